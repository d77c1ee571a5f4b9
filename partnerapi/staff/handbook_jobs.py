"""What the handbook says of each job: at most twenty steps, in the order of work.

`python -m tests.pages.handbook` takes the pictures beside the steps.
"""

from collections.abc import Mapping
from dataclasses import dataclass

TWO = "A second person with the right decides; nothing happens before that."
PREVIEW = "The page of the request shows what will change, before and after."


@dataclass(frozen=True, slots=True)
class Job:
    """`start` is the address, below that of the back office, at which the work begins.

    Staff with `right` may do it; without a right, all staff. `opens` says that the
    picture shows the page of the list's first row.
    """

    slug: str
    title: str
    start: str
    right: str
    steps: tuple[str, ...]
    opens: bool = False


JOBS: Mapping[str, Job] = {
    job.slug: job
    for job in (
        Job(
            "find", "Find a person, a company or an order", "find/?q=silva", "",
            (
                "Type into the box at the top of any page.",
                "It takes an email, a name, an LEI, an ISIN, a symbol, a reference, an "
                "id, a CompID or the request id that a partner quotes.",
                "Case and accents do not matter; the beginning of a name is enough.",
                "One exact hit opens at once; several are listed by kind.",
                "The page of the object has its facts, its activity and its actions.",
                "The start page shows what waits for you, oldest first.",
                "Help, at the top right, opens the handbook at the job of the page; on "
                "the start page it lists all jobs.",
            ),
        ),
        Job(
            "decide", "Decide a request", "accounts/approvalrequest/?status=ALL",
            "accounts.view_approvalrequest",
            (
                "The queue of requests on the start page counts those that are open.",
                "Open a request. Its title says what is asked, and by whom.",
                PREVIEW,
                "Follow the links to the objects, and compare the request with the "
                "paper that it names.",
                "Read each warning; a request with lines lists all of them.",
                "Approve carries it out at once, with your code or your passkey.",
                "To refuse, enter a comment; the requester reads it.",
                "You never decide your own request.",
                "A new colleague decides nothing for 24 hours.",
                "A request whose data has changed is superseded: ask for it anew.",
                "Several requests of one kind can be ticked and decided together.",
            ),
        ),
        Job(
            "accounts", "Activate, suspend or close an account",
            "accounts/account/?status__exact=ACTIVE", "accounts.change_account",
            (
                "The queue of pending accounts counts them by age.",
                "Open the account. The application shows what the partner stated.",
                "If another user has the same email or LEI, the page offers to assign "
                "the account to that user. Check the identity first.",
                "Enter a reason; the partner reads it.",
                "Activate, reject, suspend or reactivate with one button.",
                "A suspended account keeps its cash and units, but places no orders.",
                "Closing is final, so the page links to a request. " + TWO,
                "An account with cash or units cannot be closed.",
            ),
            opens=True,
        ),
        Job(
            "open-account", "Open an account for a client", "do/open-account/",
            "accounts.change_account",
            (
                "Partners open accounts themselves; do it for them only if they ask.",
                "Start from the page of the partner: its login is filled in.",
                "Enter the client's email, wallet address, LEI or id.",
                "The client must be known as a user; import holders first if not.",
                "Enter the reason, and press Open.",
                "The account is pending. Activate it on its page.",
                "A user has at most one open account with a partner.",
            ),
        ),
        Job(
            "investors", "Review an investor's attestation",
            "accounts/investorattestation/", "accounts.add_investorchange",
            (
                "The queue of attestations lists what partners stated of clients.",
                "Open the holder's compliance page.",
                "Compare the class and the verification with the evidence.",
                "Choose Verified or Refused, the country and the class, and name the "
                "evidence.",
                "Press Save investor profile. It settles the attestations that wait.",
                "The profile changes at once, and the rules of tokens use it.",
            ),
        ),
        Job(
            "restrict", "Freeze a holder, lock or pledge units",
            "issuers/restriction/", "issuers.add_restriction",
            (
                "Find the holder, and open Compliance on the holder's page.",
                "Choose the kind: a freeze, a lock or a pledge.",
                "Leave the token blank to freeze the whole position, in and out.",
                "Enter the end, if there is one, and the reason.",
                "The restriction holds at once; open orders that it forbids end.",
                "Lifting it is a request. " + TWO,
            ),
        ),
        Job(
            "rules", "Set the rules of a token", "ask/rule/", "accounts.file_rule",
            (
                "A rule limits who may hold a token, or how much.",
                "Enter the token and choose the rule.",
                "Write the value as the text under the field says; a percentage may "
                "have a comma or a point.",
                "Enter the reason, and submit.",
                "The preview counts the holders that would not pass.",
                TWO,
                "The rule binds each transfer and trade from then on.",
                "Nothing is taken from a holder that does not pass.",
            ),
        ),
        Job(
            "issuers", "Edit an issuer and its tokens", "issuers/issuer/",
            "issuers.change_issuer",
            (
                "Open the issuer from the list or by Find.",
                "Edit opens the form; the slug stays.",
                "Add a token on the issuer's page, with symbol, ISIN and visibility.",
                "The log keeps each column before and after.",
                "The symbol and the ISIN of a traded token need a request.",
                "View as partner shows what a partner's key sees.",
            ),
            opens=True,
        ),
        Job(
            "publish", "Publish articles, figures and documents", "issuers/article/",
            "issuers.add_article",
            (
                "Start from the issuer's page, so that the issuer is filled in.",
                "An article without a time of publication is a draft.",
                "With a time in the future it is published then, by itself.",
                "Figures are those of a year, or of a first half-year.",
                "Many figures are quicker by Import.",
                "A document is a PDF or a picture; its bytes decide the type.",
                "Partners receive an event when an article or figures appear.",
            ),
        ),
        Job(
            "import", "Import a file", "import/", "issuers.add_issuer",
            (
                "Choose the type of file; the page lists its columns.",
                "The file is CSV in UTF-8, at most 64 MiB.",
                "A worker imports a file of more than 5 MiB; its page shows the "
                "progress, and Import lists it for a day.",
                "Preview checks every line and writes nothing.",
                "If any line fails, nothing is imported, and every error is listed "
                "with its line, its field and its fix.",
                "Correct the file and upload it anew.",
                "Import writes what the preview shows, or nothing.",
                "The same file a second time changes nothing.",
                "The log has the file's name and the number of its lines.",
            ),
        ),
        Job(
            "deliver", "Deliver legacy shares", "delivery/",
            "issuers.change_legacyshareholder",
            (
                "Choose the issuer, and the lines; select none to include all.",
                "The preview shows the tokens, the shares, the supply and the treasury "
                "before and after.",
                "Shares come from the treasury, or are newly issued.",
                "Enter the reason, and submit. " + TWO,
                "A worker delivers the lines; the page shows how far it is.",
                "A line that is refused says why; the others go on.",
                "A delivery that stopped is resumed with one button, and delivers no "
                "line twice.",
                "The lines can be downloaded, each with its entry in the register.",
            ),
        ),
        Job(
            "captable", "Read a capitalization table", "issuers/issuer/",
            "issuers.view_issuer",
            (
                "Open the issuer, and follow Capitalization table.",
                "Choose a date and a time; the page shows that instant.",
                "The address is a permalink: send it to a colleague.",
                "The bar shows the largest holders, and the rest.",
                "Download takes the table as CSV, and the log keeps who took it.",
                "The print has no menus, and the log keeps it, too.",
            ),
            opens=True,
        ),
        Job(
            "units", "Mint, burn or transfer units", "ask/transfer/",
            "accounts.file_transfer",
            (
                "Start from the token's page: the symbol is filled in.",
                "A transfer moves units between holders, or from or to the treasury.",
                "Name a holder by email, wallet address, LEI or id.",
                "A mint raises the supply, and a burn lowers it.",
                "A forced transfer ignores the rules; use it on a court's order.",
                "A reversal undoes an entry by its number in the ledger.",
                "Enter the reason; the register keeps it permanently.",
                PREVIEW,
                TWO,
                "The entry is in the ledger with its number, and partners get events.",
            ),
        ),
        Job(
            "price", "Set the price of a token", "ask/price/", "accounts.file_price",
            (
                "Enter the token, and the price of a unit in euros.",
                "Choose the source of the price.",
                "The preview shows the value of all units before and after.",
                TWO,
                "A token without a price is valued at 0 in capitalization tables.",
            ),
        ),
        Job(
            "identity", "Change the symbol or the ISIN", "ask/identity/",
            "accounts.file_identity",
            (
                "A token that is not traded is edited on its page.",
                "For a traded one, open its page and press Change symbol or ISIN: both "
                "are filled in.",
                "Change one or both. A blank ISIN takes the ISIN away.",
                TWO,
                "The feed and the API use the new names at once, so warn partners.",
            ),
        ),
        Job(
            "watch-books", "Watch the order books", "books/", "issuers.view_token",
            (
                "Order books lists the best prices of every traded token.",
                "A symbol opens its ladder, which follows the book each second.",
                "The line above shows the prices of the last 24 hours.",
                "A book that stands still for a minute says so.",
                "In a call, Auction shows its book, its price so far, the imbalance "
                "and the time to go.",
            ),
        ),
        Job(
            "halt", "Halt and reopen a market", "trading/market/",
            "trading.change_market",
            (
                "Open the market from the list or from the token.",
                "Enter the reason, and press Halt.",
                "Trading stops immediately; partners can still cancel orders.",
                "Reopening is a request. The market opens by an auction.",
                TWO,
                "The phases at the foot of the page show who did what, and why.",
            ),
            opens=True,
        ),
        Job(
            "open-market", "Open an internal market", "do/open-market/",
            "trading.change_market",
            (
                "A token on the primary market moves to the secondary market first, "
                "by a button on its page. Its offerings have ended.",
                "Its book is fed from outside until its own market opens.",
                "Start from the token's page: the symbol is filled in.",
                "Enter the times of the session, in the time zone of the market.",
                "The same time twice means all day, ending then.",
                "Limits must be multiples of the tick, quantities of the lot.",
                "The collar is the greatest distance from the reference price.",
                "A token without a price needs a reference price.",
                "Opening is permanent: the levels of the feed leave the book.",
                "The market is closed until its session begins.",
                "Its page requests a tariff and other parameters.",
            ),
        ),
        Job(
            "parameters", "Change the parameters of a market", "ask/parameters/",
            "accounts.file_parameters",
            (
                "Start from the page of the market: the form has what is in force.",
                "The page shows the trades of twelve months. With few of them it "
                "proposes fixings, and a link fills them in.",
                "Change the session, the holidays, the ticks, the lot, the bands, the "
                "model or the limits of an order, and leave what stays.",
                "The bands are percents of the price; ticks are in euros.",
                "Enter the reason, and submit.",
                "The page of the request lists what changes, before and after.",
                TWO,
                "The parameters hold from the next opening of the market.",
                "Open orders that they do not admit end there. Partners learn it the "
                "evening before.",
                "The market's page shows what is in force, what is next, and who "
                "decided it.",
            ),
        ),
        Job(
            "tariffs", "Set the fees of a market", "ask/tariff/",
            "accounts.file_tariff",
            (
                "Start from the page of the market: its symbol is filled in.",
                "Leave the partner blank for a tariff of all partners.",
                "A partner's own tariff comes before it.",
                "Enter the rates of makers and takers and the tax in percents.",
                "The minimum and the maximum are euros of an order that traded.",
                "Enter the time from which it holds, or leave it blank for the moment "
                "of the approval.",
                "To end a tariff, tick No tariff.",
                "The page of the request shows the tariff before and after.",
                TWO,
                "An order keeps the tariff of its acceptance.",
                "Each month the platform invoices the fees to the partner.",
            ),
        ),
        Job(
            "draft-offering", "Draft an offering", "do/draft-offering/",
            "accounts.file_offering",
            (
                "Start from the page of the token: its symbol is filled in.",
                "The token is on the primary market.",
                "Choose how units are allotted. One price from the book needs a lowest "
                "and a highest limit; the others need a price.",
                "Enter the units, the minimum, and the bounds of a subscription.",
                "Enter the times, UTC, between which investors subscribe.",
                "The units come from the issuer's treasury, or are newly issued.",
                "Enter the fee of the issuer and its tax in percents.",
                "Enter the reason, and press Draft. Partners do not see it.",
                "The page of the offering requests its opening.",
            ),
        ),
        Job(
            "offerings", "Open, price, allot and settle an offering",
            "issuers/offering/", "accounts.file_offering",
            (
                "Open the offering from the list. Its page has its next steps.",
                "Its opening is a request, with all its terms.",
                TWO,
                "The clock closes it. One that misses its minimum fails, and all cash "
                "is released.",
                "With a book, its price is a request, proposed from the book.",
                "Units are allotted by a request once the last reflection period has "
                "ended. If an account or a rule forbids them later, they are allotted "
                "anew.",
                "The settlement is a request, too. The requester begins it at a minute "
                "outside the sessions of markets.",
                "The offering's page shows each entry of the register, and the cash.",
            ),
        ),
        Job(
            "payouts", "Pay out the cash of an issuer", "ask/payout/",
            "accounts.file_payout",
            (
                "An issuer has cash once an offering is settled. Its amount is on the "
                "page of the offering.",
                "Enter the slug of the issuer and the amount in euros.",
                "Enter the payee and the IBAN as the issuer's paper states them.",
                "Enter the reason, and submit.",
                "The page of the request shows what remains.",
                TWO,
                "The amount is reserved, and waits among the approved withdrawals.",
                "Payments puts it into the next file for the bank.",
                "The bank's statement names its reference, and marks it paid.",
            ),
        ),
        Job(
            "orders", "Follow an order", "trading/order/", "trading.view_order",
            (
                "Find the order by its id or by the partner's clientOrderID.",
                "The page shows the terms, what is filled and what remains.",
                "The activity lists each event, with the person or the partner.",
                "Executions lead to the page of the trade.",
                "Cancel the order, on the page, needs the right to change markets.",
            ),
            opens=True,
        ),
        Job(
            "cancel-orders", "Cancel open orders", "do/cancel-orders/",
            "trading.change_market",
            (
                "Start from an order, an account, a market or a partner.",
                "Name one or more; only orders that fit all of them are cancelled.",
                "Enter the reason, and press the button.",
                "Nothing is cancelled yet: the page counts the orders.",
                "Press the button a second time to confirm that number.",
                "If the number has changed, the page shows the new one.",
                "Reserved cash and units are free at once, and partners get events.",
                "The orders show that staff cancelled them.",
            ),
        ),
        Job(
            "stop-orders", "Stop the orders of a partner", "do/stop-orders/",
            "trading.change_market",
            (
                "Start from the partner, the account or the wall of markets.",
                "Enter the reason, and press the button: one person is enough.",
                "New orders are refused with ORDERS_BLOCKED from then on.",
                "Open orders are cancelled, market by market.",
                "The pages of the partner and its accounts show the stop.",
                "Request the release there, when the cause is gone.",
                TWO,
                "The partner gets an event of both.",
            ),
        ),
        Job(
            "bust", "Bust a trade", "ask/bust/", "accounts.file_bust",
            (
                "Open the trade from its order or its market, and request the bust.",
                "The token and the number of the trade are filled in.",
                "For a correction, enter the price of the trade in its place.",
                "The preview shows the units and the cash that go back.",
                TWO,
                "Both partners get an event of the request, and one of the bust.",
            ),
        ),
        Job(
            "bank", "Book a bank statement", "import/", "accounts.add_bankstatement",
            (
                "Export the statement at the bank, as camt.053 or CSV.",
                "Choose Bank statement, and upload the file.",
                "A camt.053 states its balances; for a CSV, enter the closing balance.",
                "It must open with the balance of the books, and be of our account.",
                "The preview shows each client's balance before and after.",
                "A line that names a client's reference is credited to that client.",
                "A line that names a withdrawal marks it paid.",
                "All other money waits among the unallocated receipts.",
                "If the balances differ, nothing is booked: look for a missing file.",
                "Credits to clients are a request. " + TWO,
                "The same file a second time books nothing.",
            ),
        ),
        Job(
            "receipts", "Assign an unallocated receipt", "receipts/",
            "accounts.file_assignment",
            (
                "The queue of unallocated receipts leads to the list, oldest first.",
                "Suggestions come from references, the payer's name and equal amounts.",
                "Each is a guess: compare it with the bank's own records.",
                "Request assignment fills in the form; enter the reason.",
                "Choose an account, if no suggestion is right.",
                "An account that is pending or closed takes no money.",
                TWO,
                "A wrong assignment is returned with the same form and no account.",
            ),
        ),
        Job(
            "withdrawals", "Approve or refuse a withdrawal", "accounts/withdrawal/",
            "accounts.file_withdrawal",
            (
                "The queue of withdrawals lists what partners requested.",
                "Open one. It shows the amount, the payee and the IBAN.",
                "Request the approval, with the reason. " + TWO,
                "The approver is warned if the payee is not the client.",
                "To refuse, tick the rows, enter the reason and use the list's action.",
                "The partner reads the reason, and the cash is free.",
                "An approved one that the bank will not pay is cancelled by a request.",
            ),
        ),
        Job(
            "pay", "Pay approved withdrawals", "payments/", "accounts.add_paymentfile",
            (
                "The queue of approved withdrawals leads to Payments.",
                "Compare the payees, the IBANs and the total.",
                "Untick what must wait, and press Create the payment file.",
                "Each withdrawal is in one file at most, so it is paid once.",
                "Download the file, a pain.001, and upload it at the bank.",
                "The page and the log show who downloaded it.",
                "A second download is the same file; the bank never pays it twice.",
                "A withdrawal without an IBAN is paid by hand, with its reference.",
                "It is paid once the next statement is booked.",
                "A superuser names the account from which payments leave.",
            ),
        ),
        Job(
            "documents", "Find a contract note, a statement or an invoice",
            "trading/issueddocument/", "trading.view_issueddocument",
            (
                "Each night the platform issues what is due.",
                "A contract note is of a client's trades of a day, a statement of a "
                "client's quarter, an invoice of a partner's fees of a month.",
                "Type a client's name, email or account id, or choose a partner.",
                "The pages of accounts and partners lead to their documents, too.",
                "Open the document for its fees, its period and its digests.",
                "Download the PDF or the JSON; the log records who did.",
                "A document never changes: each download is the same file.",
                "A trade that is busted later stands in the note of the later day.",
            ),
        ),
        Job(
            "keys", "Issue, replace and revoke API keys", "accounts/partner/",
            "accounts.file_key",
            (
                "Open the partner, and press New key or Rotate.",
                "Choose only the scopes that the partner needs.",
                "Set the number of days; without it the key does not expire.",
                "Submit. " + TWO,
                "Then you issue the key on the page of the request; it is shown once.",
                "Give it to the partner in a safe way.",
                "Revoke first shows which scopes and sessions end.",
                "Every process rejects a revoked key within a second.",
            ),
            opens=True,
        ),
        Job(
            "grants", "Give a partner access to an issuer", "ask/grant/",
            "accounts.file_grant",
            (
                "Enter the partner's login and the issuer's slug.",
                "Without an issuer, the grant is for every issuer, present and future.",
                "The preview says how many companies that is.",
                TWO,
                "End a grant on the partner's page, with a reason.",
                "Access ends with the partner's next request.",
            ),
        ),
        Job(
            "desks", "Invite a person to a partner's desk", "ask/desk/",
            "accounts.file_desk",
            (
                "Enter the partner, the person's address and the scopes of the keys "
                "that this person may issue.",
                TWO,
                "The invitation goes by e-mail, and ends after some days.",
                "The person enrols a passkey, which rests for a day.",
                "End a membership on the partner's page; issued keys stay valid.",
            ),
        ),
        Job(
            "assign-compids", "Assign CompIDs of the FIX feed", "do/assign-compids/",
            "marketdata.change_fixsession",
            (
                "Start from the page of the partner: its login is filled in.",
                "Choose order books or a drop copy, how many more, and the reason.",
                "The partner gets the next free ones of the pool.",
                "Its API key needs the scope marketdata:read; for a drop copy, "
                "trading:read.",
                "The partner's page shows each CompID with its health.",
                "On the page of a CompID it can be switched off, or bound to networks.",
            ),
        ),
        Job(
            "partner-requests", "Look at a partner's requests",
            "partnerapi/idempotencyrecord/", "accounts.view_partner",
            (
                "Open the partner, and follow Requests.",
                "Each has its time, its operation, its code and its request id.",
                "A code filters the list.",
                "Exports that failed today are a queue; the export's page says why.",
            ),
        ),
        Job(
            "webhooks", "Look at a partner's webhooks", "partnerapi/webhookendpoint/",
            "partnerapi.view_webhookendpoint",
            (
                "A partner creates its endpoints with a key.",
                "Follow Webhooks on the page of the partner.",
                "The status says whether the endpoint receives events.",
                "Failing since is the time of the first attempt that failed.",
                "The list of webhook deliveries shows each attempt of the last week, "
                "with the status and the error of the partner's server.",
                "Events are sent in order: one that fails holds back the later ones.",
                "After a day without success the endpoint is off, and the members of "
                "the partner's desk get an e-mail.",
                "The partner repairs its server, and creates the endpoint anew.",
                "No event is lost: the partner also reads the list of events.",
            ),
        ),
        Job(
            "conformance", "Read a conformance report",
            "marketdata/conformancereport/", "marketdata.view_conformancereport",
            (
                "A partner runs conformance.py against the sandbox before it connects.",
                "With --api, the program sends its verdicts here.",
                "The page of the partner shows the newest reports by part: order "
                "books, drop copy, orders.",
                "Open a report for the verdict of each rule and its faults.",
                "Compare the version with the rules of engagement in force.",
                "Assign CompIDs once each part that the partner uses has passed.",
                "A report is what the partner's own program says: it is no proof.",
            ),
        ),
        Job(
            "proofs", "Prove what a holder has", "accounts/userholder/",
            "issuers.view_token",
            (
                "Find the holder.",
                "Statement with proofs, on the holder's page, is a ZIP.",
                "It has a PDF of the units held, and a proof for each token.",
                "Each proof leads to a statement that the platform has signed.",
                "The document Proof has two programs that check it offline.",
                "Give the holder the ZIP with a link to that document.",
                "The page of the token shows the last statement. Verify now compares "
                "it with the register.",
                "Entries after that statement come with the proof, and say so.",
                "Partners compare their own copies of accounts by viewer.checkpoint, "
                "which needs nothing from you.",
                "The log has who took the file.",
            ),
            opens=True,
        ),
        Job(
            "log", "Read the log", "log/", "accounts.view_rowchange",
            (
                "Each line is a sentence: who did what, to which object.",
                "Filter by kind, person, object and minute.",
                "A bulk job is one line; open it to see what it holds.",
                "A change shows each column before and after.",
                "Sign-ins, downloads and prints are lines, too.",
                "Change log, on the page of an object, shows its lines alone.",
                "The file takes the latest 10,000 lines of the filter. For older ones, "
                "choose an earlier end.",
            ),
        ),
        Job(
            "unlock-sign-in", "Unlock a sign-in", "do/unlock-sign-in/",
            "partnerapi.change_failedsignin",
            (
                "Five failures from one address lock a person for 15 minutes.",
                "Ask the person by phone whether the failures were theirs.",
                "If not, leave the lock, and inform your operators.",
                "Enter the email and the reason, and press Unlock.",
                "The person signs in with the password that they have.",
                "A forgotten password is reset on the user's page.",
            ),
        ),
        Job(
            "reset-sign-in", "Reset the sign-in of a colleague", "ask/sign_in/",
            "accounts.file_sign_in",
            (
                "A colleague has lost the authenticator and has no recovery code.",
                "Call the person on a number that you already know.",
                "Type the name, choose the person, and give the reason.",
                TWO,
                "The reset removes the authenticator and the recovery codes, and "
                "unlocks the sign-in.",
                "The password stays; the person signs in with it and enrols another "
                "authenticator.",
                "For 24 hours the person decides no request.",
                "All who may decide get an e-mail of the change.",
            ),
        ),
        Job(
            "recovery-codes", "Make recovery codes", "recovery-codes/", "",
            (
                "Open Recovery codes at the top of any page.",
                "Type a code from your authenticator, and press Make new codes.",
                "Print the ten codes, or store them in a password manager.",
                "They are shown only once; new codes replace all earlier ones.",
                "Each code works once, after your password, when the authenticator is "
                "lost.",
                "It removes the lost authenticator, and you enrol another at once.",
            ),
        ),
        Job(
            "run-check", "Run a nightly check now", "do/run-check/",
            "partnerapi.add_jobrun",
            (
                "The start page shows which nightly checks failed or did not run.",
                "Choose the check, enter the reason, and press Run.",
                "A worker begins within seconds.",
                "The list of job runs shows the result, and what it found.",
                "The checks change no data, so run them at any time.",
            ),
        ),
        Job(
            "colleagues", "Add a colleague", "accounts/user/", "accounts.add_user",
            (
                "Add a user with the email, the name and a first password.",
                "Tick Is staff, and choose the groups: each is a role.",
                "The page Roles shows what each role may do.",
                "The colleague changes the password and enrols a second factor.",
                "For 24 hours the colleague decides no request.",
                "All who may decide get an e-mail of the change.",
                "To end access, untick Active; all sessions end at once.",
            ),
        ),
    )
}  # fmt: skip
