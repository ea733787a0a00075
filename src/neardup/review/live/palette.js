// Dialogs that keys open, and the panes.

import { COMMANDS } from "./keys.js";

const one = (selector, within) => within.querySelector(selector);

function dialog(content, done) {
  const made = document.createElement("dialog"), from = document.activeElement;
  made.innerHTML = content;
  made.addEventListener("close", () => {
    made.remove();
    from.focus({ preventScroll: true });
    done(made.returnValue);
  });
  document.body.append(made);
  return made;
}

// resolves to the words that a reader enters; to "" if the dialog is left
export function ask(label) {
  return new Promise((resolve) => {
    const content = '<form method="dialog"><p><label for="answer"></label> <input id="answer" maxlength="200" autocomplete="off"> <button value="yes">Save</button></p></form>';
    const made = dialog(content, (answer) => resolve(answer && one("input", made).value.trim()));
    one("label", made).textContent = label;
    made.showModal();
  });
}

// the panes beside a page are folded or shown, on later pages, too: early.js reads what is stored here
export function fold(say) {
  if (!document.querySelector(".panes")) return false;
  const root = document.documentElement, folded = root.dataset.panes !== "folded";
  root.dataset.panes = folded ? "folded" : "";
  try {
    localStorage.setItem("neardup-panes", root.dataset.panes);
  } catch {
    // without storage, on this page alone
  }
  say(`Panes are ${folded ? "folded" : "shown"}.`);
}

const PAUSE = 120; // milliseconds after a letter, before the server is asked

// what has all words of a text, as the server finds names
const fits = (text, words) => words.every((word) => text.toLowerCase().includes(word));

// commands first, then what the page /find lists; `act` runs a command
export function palette(act) {
  const content = '<input role="combobox" aria-label="Commands, groups and documents" aria-expanded="true" aria-controls="finds-list" aria-autocomplete="list" autocomplete="off" spellcheck="false"><ul id="finds-list" role="listbox" aria-label="Commands, groups and documents"></ul>';
  let chosen = null, asked = 0, timer = null;
  const made = dialog(content, () => { clearTimeout(timer); if (chosen) chosen(); });
  made.className = "palette";
  const input = one("input", made), list = one("ul", made), reads = one(".reads", document);
  const options = () => [...list.children];
  const current = () => one("[aria-selected=true]", list);
  const mark = (option) => {
    options().forEach((each) => each.setAttribute("aria-selected", String(each === option)));
    input.setAttribute("aria-activedescendant", option ? option.id : "");
    if (option) option.scrollIntoView({ block: "nearest" });
  };
  const add = (words, note, run) => {
    const option = document.createElement("li"), key = document.createElement("kbd");
    option.id = `find-${list.children.length}`;
    option.setAttribute("role", "option");
    option.append(words);
    key.textContent = note;
    if (note) option.append(" ", key);
    option.addEventListener("click", () => { chosen = run; made.close(); });
    list.append(option);
  };
  const look = async (text, number) => {
    const answer = await fetch(`${one('header.bar a[href$="/keys"]', document).getAttribute("href").slice(0, -5)}/find?${new URLSearchParams({ q: text })}`, { credentials: "same-origin" });
    if (!answer.ok) throw new Error("not a page");
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (number !== asked || !made.open) return; // an answer to older letters
    for (const part of page.querySelectorAll("#finds li, #finds > p")) { // names, and what the lists lack
      const link = one("a", part), at = link && link.getAttribute("href");
      add(part.textContent.trim().replace(/\s+/g, " "), "", at && (() => location.assign(at)));
    }
    if (!current()) mark(list.firstElementChild);
  };
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.replaceChildren();
    for (const [name, command] of Object.entries(COMMANDS)) {
      if (!command.own && !(reads && command.writes) && name !== "palette" && name !== "leave" && fits(`${name} ${command.does}`, words)) add(command.does, command.on[0], () => act(name));
    }
    mark(list.firstElementChild);
    clearTimeout(timer);
    asked += 1;
    const number = asked;
    if (words.length) timer = setTimeout(() => look(input.value, number).catch(() => { if (number === asked) add("Names were not looked up: the server did not answer.", "", null); }), PAUSE);
  };
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], every = options();
    if (step && every.length) mark(every[(every.indexOf(current()) + step + every.length) % every.length]);
    if (event.key === "Enter" && current()) current().click();
    if (step || event.key === "Enter") event.preventDefault();
  });
  show();
  made.showModal();
  input.focus();
}
