// Rebuilds books with jspurefix and its stock dictionary of FIX 4.4.
// Arguments: host, port, SenderCompID, TargetCompID, symbols; the key in FIX_KEY. Says
// when it has subscribed and when it has heard UPDATES; once each book has a bid at LAST,
// prints them.
require("reflect-metadata");
const { AsciiSession, MsgType, SessionLauncher } = require("jspurefix");

const UPDATES = 20;
const LAST = "0.01";
const [host, port, SenderCompId, TargetCompID, ...symbols] = process.argv.slice(2);
const books = Object.fromEntries(symbols.map((s) => [s, { 0: {}, 1: {} }]));
let instruments = [];
let updates = 0;

function refuse(...what) {
  console.error(...what);
  process.exit(1);
}

class Session extends AsciiSession {
  constructor(config) {
    super(config);
    this.logReceivedMsgs = false;
  }

  onLogon() {
    return true;
  }

  onReady() {
    this.send("x", { SecurityReqID: "list", SecurityListRequestType: 4 });
  }

  askForBooks() {
    this.send(MsgType.MarketDataRequest, {
      MDReqID: "books",
      SubscriptionRequestType: "1",
      MarketDepth: 0,
      MDUpdateType: 1,
      MDReqGrp: { NoMDEntryTypes: [{ MDEntryType: "0" }, { MDEntryType: "1" }] },
      InstrmtMDReqGrp: {
        NoRelatedSym: symbols.map((Symbol) => ({ Instrument: { Symbol } })),
      },
    });
    console.log("subscribed");
  }

  onApplicationMsg(type, view) {
    const message = view.toObject();
    if (type === "y") {
      instruments = message.SecListGrp.NoRelatedSym.map((e) => e.Instrument.Symbol);
      this.askForBooks();
      return;
    }
    if (type === "W") {
      const book = books[message.Instrument.Symbol];
      for (const entry of message.MDFullGrp.NoMDEntries) {
        book[entry.MDEntryType][entry.MDEntryPx.toFixed(2)] = entry.MDEntrySize;
      }
    } else if (type === "X") {
      updates += 1;
      if (updates === UPDATES) console.log("moved");
      for (const entry of message.MDIncGrp.NoMDEntries) {
        const side = books[entry.Instrument.Symbol][entry.MDEntryType];
        const price = entry.MDEntryPx.toFixed(2);
        const isNew = entry.MDUpdateAction === "0";
        if (price in side === isNew) refuse("not this book:", JSON.stringify(entry));
        if (entry.MDUpdateAction === "2") delete side[price];
        else side[price] = entry.MDEntrySize;
      }
    } else if (type !== "f") {
      refuse("unexpected", type, JSON.stringify(message));
    }
    if (Object.values(books).every((book) => LAST in book[0])) this.done();
  }

  onStopped(error) {
    if (error) refuse("stopped:", error);
    console.log(JSON.stringify({ instruments, updates, books }));
  }

  onDecoded() {}

  onEncoded() {}
}

class Launcher extends SessionLauncher {
  constructor() {
    const application = {
      type: "initiator",
      name: "client",
      tcp: { host, port: Number(port) },
      protocol: "ascii",
      dictionary: "qf44",
    };
    super({
      application,
      SenderCompId,
      TargetCompID,
      Password: process.env.FIX_KEY,
      EncryptMethod: 0,
      ResetSeqNumFlag: true,
      HeartBtInt: 30,
      BeginString: "FIX.4.4",
    });
  }

  makeFactory() {
    return { makeSession: (config) => new Session(config) };
  }
}

new Launcher().run().then(
  () => process.exit(0),
  (error) => refuse(error),
);
