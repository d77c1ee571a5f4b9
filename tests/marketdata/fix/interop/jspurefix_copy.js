// Follows a drop copy with jspurefix and its stock dictionary of FIX 4.4.
// Arguments: host, port, SenderCompID, TargetCompID, how many reports; the key in FIX_KEY.
// Prints ExecID, ExecType, OrdStatus, LeavesQty and CumQty of each.
require("reflect-metadata");
const { AsciiSession, SessionLauncher } = require("jspurefix");

const [host, port, SenderCompId, TargetCompID, count] = process.argv.slice(2);
const reports = [];

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
    this.send("AD", {
      TradeRequestID: "R",
      TradeRequestType: 1,
      SubscriptionRequestType: "1",
      ExecID: "0",
    });
  }

  onApplicationMsg(type, view) {
    const message = view.toObject();
    if (type === "AQ") {
      if (message.TradeRequestStatus !== 0) refuse(JSON.stringify(message));
      return;
    }
    if (type !== "8") refuse("unexpected", type, JSON.stringify(message));
    const { ExecID, ExecType, OrdStatus, LeavesQty, CumQty } = message;
    reports.push([ExecID, ExecType, OrdStatus, `${LeavesQty}`, `${CumQty}`]);
    if (reports.length === Number(count)) this.done();
  }

  onStopped(error) {
    if (error) refuse("stopped:", error);
    console.log(JSON.stringify(reports));
  }

  onDecoded() {}

  onEncoded() {}
}

class Launcher extends SessionLauncher {
  constructor() {
    const application = {
      type: "initiator",
      name: "copy",
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
