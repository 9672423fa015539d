"use strict";
(() => {
  const table = document.getElementById("top");
  if (table) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];

    // Numbers before empty cells, whatever the direction.
    const key = (row, column, numeric) => {
      const cell = row.cells[column];
      if (!numeric) return cell.textContent;
      const value = parseFloat(cell.dataset.v ?? cell.textContent);
      return cell.dataset.v === "-inf" ? -Infinity : cell.dataset.v === "inf" ? Infinity : value;
    };
    const sort = (head) => {
      const column = heads.indexOf(head);
      const numeric = head.classList.contains("n");
      const down = head.getAttribute("aria-sort") === "ascending";
      const keyed = [...body.rows].map((row) => [key(row, column, numeric), row]);
      const sign = down ? -1 : 1;
      keyed.sort(([a], [b]) => {
        if (!numeric) return sign * a.localeCompare(b);
        if (a !== a || b !== b) return (a !== a) - (b !== b);
        return a === b ? 0 : a < b ? -sign : sign;
      });
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...keyed.map(([, row]) => row));
    };
    table.tHead.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) sort(button.parentElement);
    });

    const box = document.getElementById("filter");
    const count = document.getElementById("count");
    const total = body.rows.length;
    const filter = () => {
      const words = box.value.trim().toLowerCase();
      let shown = 0;
      for (const row of body.rows) {
        row.hidden = words !== "" && !row.textContent.toLowerCase().includes(words);
        shown += !row.hidden;
      }
      count.textContent = words ? `${shown} of ${total} rows` : `${total} rows`;
    };
    box.addEventListener("input", filter);
    filter();
  }

  const map = document.getElementById("map");
  if (map) {
    const svg = map.querySelector("svg");
    const ring = svg.querySelector(".here");
    const out = document.getElementById("map-here");
    const points = JSON.parse(document.getElementById("points").textContent);
    const tops = points.filter((point) => point[4]).sort((a, b) => a[4] - b[4]);
    let rank = 0;
    const show = ([x, y, row, score, place, flagged]) => {
      ring.setAttribute("cx", x);
      ring.setAttribute("cy", y);
      out.textContent = `Row ${row}: score ${score}${place ? `, rank ${place}` : ""}${flagged ? ", flagged" : ""}`;
    };
    map.addEventListener("pointermove", (event) => {
      const frame = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / frame.width;
      const x = (event.clientX - frame.left) * scale;
      const y = (event.clientY - frame.top) * scale;
      let best = null;
      let least = (24 * scale) ** 2;
      for (const point of points) {
        // A top row is met first where dots crowd.
        const far = (point[0] - x) ** 2 + (point[1] - y) ** 2 + (point[4] ? -16 : 0);
        if (far < least) [best, least] = [point, far];
      }
      if (best) show(best);
    });
    map.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step || !tops.length) return;
      event.preventDefault();
      rank = Math.min(Math.max(rank + step, 1), tops.length);
      show(tops[rank - 1]);
    });
  }
})();
