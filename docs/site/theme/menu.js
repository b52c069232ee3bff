// Labels of the theme that open menus become buttons, which the keyboard reaches: Tab, then Enter or space.
for (const label of document.querySelectorAll("label[for^=__]")) {
  const box = document.getElementById(label.htmlFor);
  if (box?.type !== "checkbox" || label.matches(".md-overlay") || label.querySelector("a")) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.className = label.className;
  button.setAttribute("for", label.htmlFor);  // The theme's styles ask for it.
  button.setAttribute("aria-label", label.textContent.trim() || { __drawer: "menu", __search: "search" }[box.id]);
  button.append(...label.childNodes);
  button.addEventListener("click", () => box.click());
  label.replaceWith(button);
}
// What is scrolled, by keys as well. The theme wraps tables when it comes to them.
const reach = () => {
  for (const each of document.querySelectorAll(".md-typeset pre, .md-typeset__scrollwrap")) each.tabIndex = 0;
};
reach();
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
