// Parts of pages, fetched as HTML that the server renders with the page's own templates.

/**
 * Fetch a fragment: whether it is good, its HTML, and where it was redirected to, if it was. Who is no longer signed in
 * gets the page anew, and with it the door.
 */
export async function fetchFragment(url, options = {}) {
  const headers = { "X-Fragment": "1", ...options.headers };
  const response = await fetch(url, { ...options, headers, cache: "no-store", credentials: "same-origin" });
  if (response.status === 401) {
    window.location.reload();
    return new Promise(() => {}); // The page is on its way out.
  }
  const landed = response.redirected ? response.url : undefined;
  return { isGood: response.ok, html: await response.text(), landed };
}

/** Put a fragment in the place of an element's content, and let the other modules find their hooks in it. */
export function swap(element, html) {
  element.innerHTML = html;
  hook(element);
}

const hooks = [];

/** Run `found` for each element that matches, now and in every fragment to come. */
export function onElement(selector, found) {
  hooks.push([selector, found]);
  for (const element of document.querySelectorAll(selector)) found(element);
}

function hook(root) {
  for (const [selector, found] of hooks) {
    for (const element of root.querySelectorAll(selector)) found(element);
  }
}

/** Tell people who do not see the page. */
export function announce(text) {
  document.querySelector("[data-announcements]").textContent = text;
}
