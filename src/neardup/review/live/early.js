// Before the page is drawn: the panes stay folded.
try {
  if (localStorage.getItem("neardup-panes") === "folded") document.documentElement.dataset.panes = "folded";
} catch {
  // without storage, each page begins with its panes
}
