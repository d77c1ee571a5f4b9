// Follows a book with jspurefix and its stock dictionary as /docs/fix asks for it.
// Arguments: host, its two ports, SenderCompID, TargetCompID, symbol; the key in FIX_KEY,
// HeartBtInt in HEARTBEAT. Ends with a Logout on SIGTERM.
require("reflect-metadata");
const { AsciiSession, MsgType, SessionLauncher } = require("jspurefix");

const PAUSE_MS = 300;
const [host, firstPort, otherPort, SenderCompId, TargetCompID, Symbol] =
  process.argv.slice(2);
let current = null;
let stopping = false;

process.on("SIGTERM", () => {
  stopping = true;
  current.done();
});

class Session extends AsciiSession {
  constructor(config) {
    super(config);
    this.logReceivedMsgs = false;
    this.asked = 0;
    current = this;
  }

  onLogon() {
    return true;
  }

  onReady() {
    this.askForBook();
  }

  askForBook() {
    this.asked += 1;
    this.sendRequest("1");
  }

  sendRequest(SubscriptionRequestType) {
    this.send(MsgType.MarketDataRequest, {
      MDReqID: `R${this.asked}`,
      SubscriptionRequestType,
      MarketDepth: 0,
      MDUpdateType: 1,
      MDReqGrp: { NoMDEntryTypes: [{ MDEntryType: "0" }, { MDEntryType: "1" }] },
      InstrmtMDReqGrp: { NoRelatedSym: [{ Instrument: { Symbol } }] },
    });
  }

  onSessionMsg(type, view) {
    super.onSessionMsg(type, view);
    if (type === MsgType.SequenceReset) {
      this.sendRequest("2");
      this.askForBook();
    }
  }

  onApplicationMsg() {}

  onStopped() {}

  onDecoded() {}

  onEncoded() {}
}

class Launcher extends SessionLauncher {
  constructor(port) {
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
      HeartBtInt: Number(process.env.HEARTBEAT),
      BeginString: "FIX.4.4",
    });
  }

  makeFactory() {
    return { makeSession: (config) => new Session(config) };
  }
}

async function follow() {
  for (const ports = [firstPort, otherPort]; !stopping; ports.reverse()) {
    await new Launcher(ports[0]).run().catch((error) => console.error(error));
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

follow().then(() => process.exit(0));
