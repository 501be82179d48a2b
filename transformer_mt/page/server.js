// The one module that talks to the server.

const STORED = "tmt key";
const SAME = 304;
const LATER = 503;
const answers = new Map(); // by their routes those that had a tag

/** What the server said instead of an answer; `status` is 0 where it said nothing. */
class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Take the key from the address, now and whenever an address with another one is opened in this tab: a server that was
 * started again has a new one. `renewed` is called then.
 */
export function prepare(renewed) {
  takeKey();
  addEventListener("hashchange", () => takeKey() && renewed());
}

/** Move the key from the address, where a person could read it over a shoulder, to this tab's own store. */
function takeKey() {
  const found = new URLSearchParams(location.hash.slice(1)).get("key");
  if (found) {
    sessionStorage.setItem(STORED, found);
    history.replaceState(null, "", location.pathname);
  }
  return found;
}

/**
 * The answer of a route: `GET` without a question, else `POST`. To `GET`, the same object while nothing is new.
 *
 * While others are first, the server says so, `waits` is called, and the question is asked again. Throws a `Refusal`,
 * or an `AbortError` once the signal says that nobody wants the answer any more.
 */
export async function ask(route, question = null, { signal = null, waits = () => {} } = {}) {
  const request = {
    signal,
    cache: "no-store",
    method: question ? "POST" : "GET",
    headers: { Authorization: `Bearer ${sessionStorage.getItem(STORED) ?? ""}` },
  };
  const known = answers.get(route);
  if (known) {
    request.headers["If-None-Match"] = known.tag;
  }
  if (question) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(question);
  }
  for (;;) {
    const response = await sent(route, request);
    if (response.status === SAME) {
      return known.answer;
    }
    const answer = await response.json().catch(() => ({ error: `${route}: the answer was cut off; ask again` }));
    if (response.ok && !answer.error) {
      const tag = response.headers.get("ETag");
      if (tag) {
        answers.set(route, { tag, answer });
      }
      return answer;
    }
    const seconds = response.headers.get("Retry-After");
    if (response.status !== LATER || seconds === null) {
      throw new Refusal(response.status, answer.error ?? response.statusText);
    }
    waits(answer.error);
    await pause(1000 * Number(seconds), signal);
  }
}

async function sent(route, request) {
  try {
    return await fetch(`/v1/${route}`, request);
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    throw new Refusal(0, "the server does not answer; start tmt serve again and open the address that it prints");
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
}
