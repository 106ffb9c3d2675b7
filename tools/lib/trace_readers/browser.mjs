// Chromium without a window, spoken to in its DevTools protocol over two pipes: messages in JSON, each behind it a zero
// byte. Its --dump-dom, which needs none of this, waits by --virtual-time-budget, a clock that does not always go on.
import {spawn} from "node:child_process";
import {setTimeout as sleep} from "node:timers/promises";

const SECONDS = 60;  // How long a page may take: with an idle machine it takes two.

/** Opens an address and gives the value of an expression there as soon as it has one; profile: a folder of its own. */
export async function inBrowser(address, profile, expression) {
  const browser = spawn("chromium", [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--allow-file-access-from-files",
    `--user-data-dir=${profile}`, "--remote-debugging-pipe", "about:blank",
  ], {stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"], detached: true});
  const ended = new Promise((resolve) => browser.once("close", resolve).once("error", resolve));
  let said = "";
  browser.stderr.setEncoding("utf8").on("data", (text) => said = (said + text).slice(-2000));
  try {
    return await Promise.race([
      valueOf(expression, address, protocolOf(browser)),
      ended.then(() => Promise.reject(new Error(`chromium ended: ${said}`))),
      sleep(SECONDS * 1000, null, {ref: false})
          .then(() => Promise.reject(new Error(`no answer of ${address} in ${SECONDS} s: ${said}`))),
    ]);
  } finally {
    // The whole group, since a renderer would write into the profile while it is removed.
    if (browser.pid !== undefined) process.kill(-browser.pid, "SIGKILL");
    await ended;
  }
}

async function valueOf(expression, address, ask) {
  const {targetId} = await ask("Target.createTarget", {url: address});
  const {sessionId} = await ask("Target.attachToTarget", {targetId, flatten: true});
  for (;;) {
    // While the page is being opened there may be no context to ask; the caller's time bounds how long.
    const answer = await ask("Runtime.evaluate", {expression, returnByValue: true}, sessionId).catch(() => null);
    if (answer?.result.value !== undefined) return answer.result.value;
    await sleep(50);
  }
}

// Gives the function that asks: a method, its parameters and the session; a promise of the result.
function protocolOf(browser) {
  const [, , , requests, answers] = browser.stdio;
  const waiting = new Map();
  requests.on("error", () => {});  // The end of the browser is told of where it is waited for.
  let parts = [];
  answers.on("data", (bytes) => {
    for (let end; (end = bytes.indexOf(0)) >= 0; bytes = bytes.subarray(end + 1)) {
      const {id, result, error} = JSON.parse(Buffer.concat([...parts, bytes.subarray(0, end)]));
      parts = [];
      const {resolve, reject} = waiting.get(id) ?? {};
      waiting.delete(id);
      if (error !== undefined) reject?.(new Error(error.message));
      else resolve?.(result);
    }
    parts.push(bytes);
  });
  let last = 0;
  return (method, params, sessionId) => new Promise((resolve, reject) => {
    waiting.set(++last, {resolve, reject});
    requests.write(`${JSON.stringify({id: last, method, params, sessionId})}\0`);
  });
}
