"use strict";
(() => {
  const root = document.documentElement;

  // -- light and dark: the reader's system decides until the button is used.
  const button = document.getElementById("theme");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  try { const kept = localStorage.getItem("ostler-report-theme"); if (kept) root.dataset.theme = kept; } catch { /* a page without storage */ }
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("ostler-report-theme", root.dataset.theme); } catch { /* a page without storage */ }
    label();
  });
  label();

  // -- the contents are open beside the text, and folded above it on a narrow screen.
  const contents = document.querySelector("nav.contents details");
  const wide = matchMedia("(min-width: 1200px)");
  const fold = () => { contents.open = wide.matches; };
  wide.addEventListener("change", fold);
  fold();

  // -- paper has everything: folded parts open for printing and close again.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of opened) each.open = false; });

  // -- a link to something folded opens it.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const around = target && target.closest("details:not([open])");
    if (around) { around.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  reveal();

  // -- a table that is wider than its place says so.
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) target.toggleAttribute("data-more", target.scrollWidth > target.clientWidth + 4);
  });
  for (const each of document.querySelectorAll(".scroll")) watch.observe(each);

  // -- tables sort by the column that is clicked; equal rows keep their order.
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    heads.forEach((head, column) => {
      // Not a real button: on paper, Chromium does not repeat heads of tables that have one.
      const click = document.createElement("span");
      click.setAttribute("role", "button");
      click.tabIndex = 0;
      click.append(...head.childNodes);
      head.append(click);
      click.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        click.click();
      });
      click.addEventListener("click", () => {
        const first = head.classList.contains("number") ? "descending" : "ascending";
        const second = first === "ascending" ? "descending" : "ascending";
        const way = head.getAttribute("aria-sort") === first ? second : first;
        for (const each of heads) each.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", way);
        const value = (row) => row.cells[column].getAttribute("data-sort");
        const rows = [...body.rows].sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          // Empty cells stay last, whichever way.
          return x === null || y === null || way === "ascending" ? compare(x, y) : compare(y, x);
        });
        body.append(...rows);
      });
    });
  }

  // -- values under the pointer: all lines at the nearest place across; by arrow keys as well.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const element = (name, text, kind) => {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const place = (x, y, chart) => {
    const box = tip.getBoundingClientRect();
    if (innerWidth < 700) {
      // No room beside a finger: below the chart, or above it.
      const around = chart.getBoundingClientRect();
      const top = around.bottom + box.height < innerHeight ? around.bottom : around.top - box.height;
      tip.style.left = "8px";
      tip.style.top = `${Math.max(4, Math.min(top, innerHeight - box.height - 4))}px`;
      return;
    }
    const left = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
    tip.style.left = `${Math.max(4, Math.min(left, innerWidth - box.width - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(y - box.height / 2, innerHeight - box.height - 4))}px`;
  };
  const fill = (dots) => {
    tip.replaceChildren(element("b", dots[0].dataset.across));
    for (const dot of dots) {
      const row = element("div", "", "row");
      const mark = element("i");
      mark.style.setProperty("--ink", getComputedStyle(dot).fill);
      const words = element("span", `${dot.dataset.name}: ${dot.dataset.value}`);
      if (dot.dataset.spread) words.append(" ", element("small", `(${dot.dataset.spread})`));
      row.append(mark, words);
      tip.append(row);
    }
    const bases = new Set(dots.map((dot) => dot.dataset.basis).filter(Boolean));
    if (bases.size) tip.append(element("small", [...bases].join("; "), "basis"));
    tip.hidden = false;
  };
  for (const chart of document.querySelectorAll("svg.chart")) {
    const dots = [...chart.querySelectorAll(".dot")];
    if (!dots.length) continue;
    // The page's own words take the place of the browser's.
    for (const dot of dots) dot.querySelector("title")?.remove();
    const cross = chart.querySelector(".cross");
    const height = (dot) => dot.getBoundingClientRect().top;
    const stops = cross ? [...new Set(dots.map((dot) => dot.dataset.x))].sort((a, b) => a - b) : [];
    let stop = -1;
    const hide = () => { tip.hidden = true; stop = -1; if (cross) cross.style.visibility = "hidden"; };
    const show = (x) => {
      const found = dots.filter((dot) => dot.dataset.x === x).sort((a, b) => height(a) - height(b));
      cross.setAttribute("x1", x);
      cross.setAttribute("x2", x);
      cross.style.visibility = "visible";
      fill(found);
      return found[0];
    };
    const nearest = (event) => {
      let best = null;
      for (const dot of dots) {
        const box = dot.getBoundingClientRect();
        const away = [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
        const distance = cross ? Math.abs(away[0]) : Math.hypot(...away);
        if (!best || distance < best.distance) best = { dot, distance };
      }
      return best;
    };
    chart.addEventListener("pointermove", (event) => {
      const best = nearest(event);
      if (best.distance > 60) { hide(); return; }
      if (cross) show(best.dot.dataset.x); else fill([best.dot]);
      place(event.clientX, event.clientY, chart);
    });
    chart.addEventListener("pointerleave", hide);
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      const count = cross ? stops.length : dots.length;
      stop = Math.max(0, Math.min(count - 1, stop + step));
      const dot = cross ? show(stops[stop]) : dots[stop];
      if (!cross) fill([dot]);
      const box = dot.getBoundingClientRect();
      place(box.left, box.top, chart);
    });
  }
})();
