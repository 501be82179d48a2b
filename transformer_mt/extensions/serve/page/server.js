// The only module that talks to the server.

const STORED = "tmt key";
const [NO_KEY, LATER] = [401, 503];
const KEYLESS = "This page has no valid key: open the address that tmt serve printed again, including everything "
  + "after the #.";
/** False in a saved page, which keeps nothing in the address or the browser. */
export const isLive = true;

/**
 * Take the key from the address, now and whenever the tab opens an address with a new one, for example after a restart
 * of the server; `renewed` is called then.
 */
export function prepare(renewed) {
  takeKey();
  addEventListener("hashchange", () => takeKey() && renewed());
}

/** Move the key from the visible address to this tab's session storage; leave the rest of the address. */
function takeKey() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const found = parts.get("key");
  if (found) {
    sessionStorage.setItem(STORED, found);
    parts.delete("key");
    history.replaceState(null, "", `${location.pathname}${parts.size ? `#${parts}` : ""}`);
  }
  return found;
}

/** An address of the page with the key of this tab, for another browser. */
export const withKey = (address) => address.replace("#", `#key=${sessionStorage.getItem(STORED)}&`);

/**
 * Request a route: `GET` without a question, otherwise `POST`.
 *
 * If the server is busy, calls `waits` with its message and retries. Throws an `Error` with the problem, or an
 * `AbortError` when the signal aborts.
 */
export async function ask(route, question = null, { signal = null, waits = () => {} } = {}) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(STORED) ?? ""}` };
  const posted = question && {
    method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(question),
  };
  const request = { signal, cache: "no-store", headers, ...posted };
  for (;;) {
    const response = await fetch(`/v1/${route}`, request).catch((error) => {
      throw error.name === "AbortError" ? error : new Error(
        "the server does not answer; start tmt serve again and open the address that it prints");
    });
    const answer = await response.json().catch(() => ({ error: `${route}: the answer was cut off; try again` }));
    if (response.ok && !answer.error) {
      return answer;
    }
    const seconds = response.headers.get("Retry-After");
    if (response.status !== LATER || seconds === null) {
      throw new Error(response.status === NO_KEY ? KEYLESS : answer.error ?? response.statusText, { cause: response });
    }
    waits(answer.error);
    await pause(1000 * Number(seconds), signal);
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
}
