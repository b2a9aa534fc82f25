// Puts a chart that answers in the place of each still one. uPlot has axes, zoom and cursor; what lies between the axes is
// drawn here, so that it looks as in the still picture.
(() => {
  "use strict";
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const DASHES = [[], [9, 4], [2, 3], [10, 3, 2, 3], [5, 3], [14, 4], [10, 3, 2, 3, 2, 3], [3, 7]];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const number = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 6 });
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const swatches = document.getElementById("swatches").content;

  function add(parent, name, attributes = {}, text = "") {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return parent.appendChild(element);
  }

  // A label of an axis.
  function short(value) {
    const size = Math.abs(value);
    for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (size >= unit * (letter === "k" ? 10 : 1)) return +(value / unit).toPrecision(4) + letter;
    }
    return String(+value.toPrecision(4));
  }

  const isPower = x => x >= 1 && Number.isInteger(Math.log2(x));

  // Of the values that there are those that have room: the ends, then powers of two.
  function places(u, xs, low, high) {
    const inside = xs.filter(x => x >= low && x <= high);
    const order = [inside[0], inside[inside.length - 1], ...inside.filter(isPower), ...inside.filter(x => !isPower(x))];
    const taken = [];
    for (const x of order) {
      if (x === undefined) continue;
      const at = u.valToPos(x, "x");
      const half = 5 + 4 * String(x).length;
      if (taken.every(other => Math.abs(other.at - at) > other.half + half)) taken.push({ x, at, half });
    }
    return taken.map(one => one.x).sort((a, b) => a - b);
  }

  function decades(low, high) {
    const all = digits => {
      const out = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
        for (const digit of digits) {
          const value = digit * 10 ** power;
          if (value >= low && value <= high) out.push(value);
        }
      }
      return out;
    };
    const fine = all([1, 2, 5]);
    if (fine.length <= 9) return fine;
    const coarse = all([1]);
    const every = Math.ceil(coarse.length / 9);
    return coarse.filter((_, at) => at % every === 0);
  }

  class Figure {
    constructor(element, chart) {
      this.element = element;
      this.chart = chart;
      this.options = {};
      this.plots = [];
      this.zoomed = null;
      this.live = element.querySelector(".live");
      this.xs = [...new Set(chart.panels.flatMap(p => p.series.flatMap(s => s.dots.map(dot => dot[0]))))].sort((a, b) => a - b);
      this.furnish();
      this.live.hidden = false;
      element.classList.add("drawn");
      this.build();
      new ResizeObserver(() => this.resize()).observe(this.live);
    }

    // Controls above the plots, the legend with its values below.
    furnish() {
      const { chart, element, live } = this;
      const series = chart.panels.flatMap(panel => panel.series);
      const any = wanted => series.some(wanted);
      const main = chart.panels[0];
      const named = `${element.id}-h`;
      const controls = add(live, "div", { class: "controls", role: "group", "aria-labelledby": named });
      const option = (name, text, checked) => {
        const label = add(controls, "label");
        const box = add(label, "input", { type: "checkbox", "data-option": name });
        label.append(text);
        this.options[name] = box.checked = checked;
        box.addEventListener("change", () => {
          this.options[name] = box.checked;
          if (name === "xlog") this.zoomed = null;
          this.build();
        });
      };
      const spread = chart.x.label === "tasks" || chart.x.spread === "log";
      if (spread && this.xs.every(x => x > 0)) option("xlog", "log x", chart.x.spread === "log");
      if (main.from_zero && any(one => one.form === "curve")) option("ylog", "log y", main.y.spread === "log");
      if (any(one => one.form !== "area" && one.dots.some(dot => dot.length > 2))) option("bands", "intervals", true);
      if (any(one => one.ideal != null)) option("ideal", "linear scaling", true);
      if (any(one => one.fit)) option("fit", "scalability law", true);
      if (any(one => one.knee != null)) option("knee", "knee", true);
      for (const [how, text] of [["in", "Zoom in"], ["out", "Zoom out"], ["all", "Show all"]]) {
        const button = add(controls, "button", { type: "button", "data-zoom": how }, text);
        button.addEventListener("click", () => this.zoom(how));
      }
      this.mounts = chart.panels.map(() => add(live, "div", { class: "plot", role: "img", "aria-labelledby": named, "aria-describedby": `${element.id}-c` }));
      const reading = add(live, "div", { class: "reading" });
      const at = `${element.id}-at`;
      add(reading, "label", { for: at }, "Read values at");
      const last = Math.max(0, this.xs.length - 1);
      this.slider = add(reading, "input", { type: "range", id: at, min: 0, max: last, step: 1, value: last });
      this.output = add(reading, "output", { for: at });
      this.slider.addEventListener("input", () => this.point(+this.slider.value));
      const fieldset = add(live, "fieldset");
      add(fieldset, "legend", {}, "Shown");
      this.toggles = [];
      chart.panels.forEach((panel, p) => panel.series.forEach((one, s) => {
        const label = add(fieldset, "label", { class: "entry" });
        const box = add(label, "input", { type: "checkbox", "data-panel": p, "data-series": s });
        box.checked = true;
        box.addEventListener("change", () => this.build());
        const swatch = swatches.querySelector(`[data-look="${one.form}${one.ink}"]`);
        if (swatch) label.append(swatch.cloneNode(true));
        add(label, "span", { class: "name" }, one.name);
        this.toggles.push({ p, s, box, value: add(label, "span", { class: "value" }) });
      }));
    }

    shown(panel, series) {
      return this.toggles.find(one => one.p === panel && one.s === series).box.checked;
    }

    // The dots of a panel as they lie: those of what is not shown are left out, stacked ones lie upon each other.
    rows(number) {
      const panel = this.chart.panels[number];
      const below = new Map();
      return panel.series.map((series, at) => {
        if (!this.shown(number, at)) return [];
        if (!panel.stacked) return series.dots;
        return series.dots.map(([x, y]) => {
          const base = below.get(x) || 0;
          below.set(x, base + y);
          return [x, base + y, base];
        });
      });
    }

    width() {
      return Math.max(240, this.live.clientWidth);
    }

    resize() {
      const width = this.width();
      for (const plot of this.plots) if (plot.width !== width) plot.setSize({ width, height: plot.height });
    }

    ends() {
      const first = this.xs[0] ?? 0;
      const last = this.xs[this.xs.length - 1] ?? 1;
      if (this.options.xlog) {
        const room = first === last ? 2 : (last / first) ** 0.03;
        return [first / room, last * room];
      }
      const room = first === last ? 1 : (last - first) * 0.03;
      return [first - room, last + room];
    }

    build() {
      for (const plot of this.plots) plot.destroy();
      this.plots = [];
      this.plots = this.chart.panels.map((panel, number) => this.plot(panel, number));
      this.point(+this.slider.value);
    }

    // High enough for every mark that is shown in the part that is zoomed to.
    range(panel, number, logarithmic) {
      const [from, to] = this.zoomed || this.ends();
      const dots = this.rows(number).flat().filter(dot => dot[0] >= from && dot[0] <= to);
      const positive = y => Number.isFinite(y) && (!logarithmic || y > 0);
      const ys = dots.map(dot => dot[1]).concat(panel.reference ?? []).filter(positive);
      if (!ys.length) return logarithmic ? [1, 10] : [0, 1];
      let low = Math.min(...ys);
      let high = Math.max(...ys);
      const limits = logarithmic ? [low / 4, high * 4] : panel.from_zero ? [0, high * 2] : [low - (high - low), high + (high - low)];
      if (this.options.bands && !panel.stacked) {
        for (const end of dots.flatMap(dot => dot.slice(2)).filter(positive)) {
          if (end >= limits[0] && end <= limits[1]) {
            low = Math.min(low, end);
            high = Math.max(high, end);
          }
        }
      }
      if (logarithmic) return [low / 1.25, high * 1.25];
      if (panel.from_zero) return [0, high > 0 ? high * 1.06 : 1];
      const room = Math.max((high - low) * 0.08, Math.abs(high) * 0.005);
      return [low - room, high + room];
    }

    plot(panel, number) {
      const ink = css("--ink");
      const rule = css("--rule");
      const logarithmic = panel.from_zero && !panel.stacked && Boolean(this.options.ylog);
      const rows = this.rows(number);
      const data = [this.xs].concat(rows.map(dots => {
        const at = new Map(dots.map(dot => [dot[0], dot[1]]));
        return this.xs.map(x => { const y = at.get(x); return y === undefined || (logarithmic && y <= 0) ? null : y; });
      }));
      const few = this.xs.length <= 40;
      const axis = { stroke: ink, font: "13px system-ui, sans-serif", labelFont: "13px system-ui, sans-serif", grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1 } };
      const xAxis = {
        ...axis, label: this.chart.x.label, labelSize: 18, size: 32, labelGap: 0, filter: (u, splits) => splits,
        values: (u, splits) => splits.map(x => plainly(x)),
      };
      if (few) xAxis.splits = (u, _, low, high) => places(u, this.xs, low, high);
      const yAxis = {
        ...axis, label: panel.y.label, labelSize: 20, size: 66, filter: (u, splits) => splits,
        values: (u, splits) => splits.map(short),
      };
      if (logarithmic) yAxis.splits = (u, _, low, high) => decades(low, high);
      const options = {
        width: this.width(),
        height: panel.minor ? 190 : 340,
        legend: { show: false },
        padding: [14, 14, 0, 0],
        scales: {
          x: { time: false, distr: this.options.xlog ? 3 : 1, log: 2, range: () => this.zoomed || this.ends() },
          y: { distr: logarithmic ? 3 : 1, log: 10, range: () => this.range(panel, number, logarithmic) },
        },
        axes: [xAxis, yAxis],
        cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false, sync: { key: this.element.id, setSeries: false } },
        select: { show: true },
        series: [{}].concat(panel.series.map((series, at) => ({
          label: series.name, show: this.shown(number, at), paths: () => null, points: { show: false }, stroke: this.colour(series),
        }))),
        hooks: {
          draw: [u => this.draw(u, panel, number, rows)],
          setCursor: [u => { if (u.cursor.idx != null && u.cursor.left >= 0) this.read(u.cursor.idx); }],
          setSelect: [u => {
            if (u.select.width < 8) return;
            this.zoomed = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
            // Not now: this plot has not done with the event.
            setTimeout(() => this.build());
          }],
          ready: [u => u.over.addEventListener("dblclick", () => this.zoom("all"))],
        },
      };
      return new uPlot(options, data, this.mounts[number]);
    }

    colour(series) {
      return css("--ink" + series.ink % 8);
    }

    draw(u, panel, number, rows) {
      const { ctx } = u;
      const scale = devicePixelRatio;
      const X = x => u.valToPos(x, "x", true);
      const Y = y => u.valToPos(y, "y", true);
      const floor = u.bbox.top + u.bbox.height;
      // A logarithmic axis has no place for what is not positive; it lies below.
      const up = y => { const at = Y(y); return Number.isFinite(at) ? at : floor + 9; };
      ctx.save();
      ctx.beginPath();
      ctx.rect(u.bbox.left - 6 * scale, u.bbox.top - 6 * scale, u.bbox.width + 12 * scale, u.bbox.height + 12 * scale);
      ctx.clip();
      ctx.lineJoin = "round";
      const stroke = (points, width, dash) => {
        ctx.beginPath();
        points.forEach(([x, y], at) => at ? ctx.lineTo(x, y) : ctx.moveTo(x, y));
        ctx.lineWidth = width * scale;
        ctx.setLineDash((dash || []).map(part => part * scale));
        ctx.stroke();
        ctx.setLineDash([]);
      };
      const curve = (dots, of) => {
        if (dots.length < 2) return [];
        const [from, to] = [dots[0][0], dots[dots.length - 1][0]];
        return Array.from({ length: 97 }, (_, i) => {
          const x = this.options.xlog ? from * (to / from) ** (i / 96) : from + (to - from) * i / 96;
          return [X(x), up(of(x))];
        });
      };
      if (panel.reference != null) {
        ctx.strokeStyle = css("--soft");
        stroke([[u.bbox.left, Y(panel.reference)], [u.bbox.left + u.bbox.width, Y(panel.reference)]], 1.3, [4, 3]);
      }
      panel.series.forEach((series, at) => {
        const dots = rows[at];
        if (!dots.length) return;
        ctx.strokeStyle = ctx.fillStyle = this.colour(series);
        if (series.form === "area") {
          const wide = ([x, y]) => dots.length > 1 ? [[x, y]] : [[x - 12 * scale, y], [x + 12 * scale, y]];
          const edge = dots.flatMap(dot => wide([X(dot[0]), up(dot[1])]));
          const back = dots.flatMap(dot => wide([X(dot[0]), up(dot[2] || 0)])).reverse();
          ctx.beginPath();
          edge.concat(back).forEach(([x, y], i) => i ? ctx.lineTo(x, y) : ctx.moveTo(x, y));
          ctx.closePath();
          ctx.globalAlpha = 0.55;
          ctx.fill();
          ctx.globalAlpha = 1;
          stroke(edge, 1);
        } else if (series.form === "dots") {
          ctx.globalAlpha = 0.75;
          for (const [x, y] of dots) this.speck(ctx, series.ink % 4, X(x), up(y), scale);
          ctx.globalAlpha = 1;
        } else {
          const lines = series.form === "curve";
          if (this.options.bands) this.bands(ctx, dots, X, up, scale, lines);
          if (lines) {
            if (this.options.ideal && series.ideal != null) stroke(curve(dots, x => series.ideal * x), 1.3, [1.5, 4]);
            if (this.options.fit && series.fit) {
              const { lambda, sigma, kappa } = series.fit;
              ctx.globalAlpha = 0.28;
              stroke(curve(dots, x => lambda * x / (1 + sigma * (x - 1) + kappa * x * (x - 1))), 5);
              ctx.globalAlpha = 1;
            }
            stroke(dots.map(dot => [X(dot[0]), up(dot[1])]), 2, DASHES[(series.ink + Math.floor(series.ink / 8)) % 8]);
            if (this.options.knee && series.knee != null) this.knee(ctx, dots, series.knee, X, up, scale);
          }
        }
      });
      panel.series.forEach((series, at) => {
        if (series.form !== "curve" && series.form !== "marks") return;
        ctx.strokeStyle = this.colour(series);
        ctx.lineWidth = 1.6 * scale;
        ctx.fillStyle = series.ink % 8 < 4 ? this.colour(series) : css("--paper");
        for (const [x, y] of rows[at]) this.mark(ctx, series.ink % 4, X(x), up(y), scale);
      });
      ctx.restore();
    }

    bands(ctx, dots, X, up, scale, lines) {
      ctx.globalAlpha = 0.18;
      let run = [];
      const fill = () => {
        if (run.length > 1) {
          ctx.beginPath();
          run.forEach((dot, i) => i ? ctx.lineTo(X(dot[0]), up(dot[3])) : ctx.moveTo(X(dot[0]), up(dot[3])));
          [...run].reverse().forEach(dot => ctx.lineTo(X(dot[0]), up(dot[2])));
          ctx.fill();
        }
        run = [];
      };
      if (lines) for (const dot of dots) if (dot.length > 3) run.push(dot); else fill();
      fill();
      ctx.globalAlpha = 0.8;
      ctx.lineWidth = 1.1 * scale;
      for (const dot of dots.filter(one => one.length > 3)) {
        const [x, low, high, arm] = [X(dot[0]), up(dot[2]), up(dot[3]), 3 * scale];
        ctx.beginPath();
        ctx.moveTo(x, low); ctx.lineTo(x, high);
        ctx.moveTo(x - arm, low); ctx.lineTo(x + arm, low);
        ctx.moveTo(x - arm, high); ctx.lineTo(x + arm, high);
        ctx.stroke();
      }
      ctx.globalAlpha = 1;
    }

    knee(ctx, dots, at, X, up, scale) {
      const right = dots.findIndex(dot => dot[0] >= at);
      if (right < 1) return;
      const [a, b] = [dots[right - 1], dots[right]];
      const part = (X(at) - X(a[0])) / (X(b[0]) - X(a[0]));
      ctx.lineWidth = 1.6 * scale;
      ctx.beginPath();
      ctx.arc(X(at), up(a[1]) + part * (up(b[1]) - up(a[1])), 8 * scale, 0, 7);
      ctx.stroke();
    }

    // A dot, a bar upright or across, a square: colour is not all.
    speck(ctx, shape, x, y, scale) {
      if (shape === 0) {
        ctx.beginPath();
        ctx.arc(x, y, 2.75 * scale, 0, 7);
        ctx.fill();
        return;
      }
      const [wide, high] = [null, [1.1, 3.4], [3.4, 1.1], [2.6, 2.6]][shape].map(half => half * scale);
      ctx.fillRect(x - wide, y - high, 2 * wide, 2 * high);
    }

    mark(ctx, shape, x, y, scale) {
      const path = [
        null,
        [[-3.7, -3.7], [3.7, -3.7], [3.7, 3.7], [-3.7, 3.7]],
        [[0, -5.2], [4.6, 2.8], [-4.6, 2.8]],
        [[0, -5], [5, 0], [0, 5], [-5, 0]],
      ][shape];
      ctx.beginPath();
      if (path) path.forEach(([dx, dy], i) => i ? ctx.lineTo(x + dx * scale, y + dy * scale) : ctx.moveTo(x + dx * scale, y + dy * scale));
      else ctx.arc(x, y, 4 * scale, 0, 7);
      ctx.closePath();
      ctx.fill();
      ctx.stroke();
    }

    zoom(how) {
      const [low, high] = this.zoomed || this.ends();
      const at = this.xs[+this.slider.value];
      if (how === "all") {
        this.zoomed = null;
      } else {
        const [to, from] = this.options.xlog ? [Math.log, Math.exp] : [x => x, x => x];
        const inside = at >= low && at <= high;
        const middle = inside ? to(at) : (to(low) + to(high)) / 2;
        const factor = how === "in" ? 0.5 : 2;
        const zoomed = [from(middle + (to(low) - middle) * factor), from(middle + (to(high) - middle) * factor)];
        const [first, last] = this.ends();
        this.zoomed = [Math.max(first, zoomed[0]), Math.min(last, zoomed[1])];
        if (this.zoomed[0] <= first && this.zoomed[1] >= last) this.zoomed = null;
      }
      this.build();
    }

    // Moves the cursor to a place, as hovering does.
    point(idx) {
      const x = this.xs[idx];
      if (x === undefined) return;
      for (const plot of this.plots) plot.setCursor({ left: plot.valToPos(x, "x"), top: 1 }, false);
      this.read(idx);
    }

    // Says the values at a place.
    read(idx) {
      const x = this.xs[idx];
      const unit = this.chart.x.label;
      const where = unit === "tasks" ? `${x} task${x === 1 ? "" : "s"}` : `${unit}: ${number.format(x)}`;
      const said = [];
      this.chart.panels.forEach((panel, p) => panel.series.forEach((series, s) => {
        const here = series.dots.filter(dot => dot[0] === x);
        let text = "";
        if (here.length === 1) {
          const [, y, low, high] = here[0];
          text = number.format(y) + (high === undefined ? "" : ` [${number.format(low)}, ${number.format(high)}]`);
        } else if (here.length > 1) {
          const ys = here.map(dot => dot[1]);
          text = `${number.format(Math.min(...ys))} to ${number.format(Math.max(...ys))}`;
        }
        if (!this.shown(p, s)) text = "";
        this.toggles.find(one => one.p === p && one.s === s).value.textContent = text;
        if (text) said.push(`${series.name} ${text}`);
      }));
      this.slider.value = idx;
      this.slider.setAttribute("aria-valuetext", `${where}: ${said.join("; ")}`);
      this.output.textContent = where;
    }
  }

  // A flame graph: arrows go from box to box, Enter or a click makes a box as wide as the picture, Escape shows all again.
  class Flame {
    constructor(element) {
      const svg = element.querySelector("svg");
      const number = (of, name) => Number(of.getAttribute(name));
      this.boxes = [...svg.querySelectorAll("g[data-row]")].map(group => {
        const [rect, said] = [group.querySelector("rect"), group.querySelector("title").textContent];
        return {
          group, rect, said, text: group.querySelector("text"), name: said.slice(0, said.lastIndexOf(": ")),
          row: Number(group.dataset.row), left: number(rect, "x"), right: number(rect, "x") + number(rect, "width"),
        };
      });
      this.root = this.boxes[0];
      if (!this.root) return;
      const live = add(element, "div", { class: "live reading" });
      svg.parentElement.after(live);
      add(live, "button", { type: "button" }, "Show all").addEventListener("click", () => this.zoom(this.root));
      add(live, "span", {}, "A click or Enter enlarges a box; arrow keys go from box to box.");
      this.reading = add(live, "p", { class: "said" });
      svg.setAttribute("role", "tree");
      for (const box of this.boxes) {
        for (const [name, value] of [["role", "treeitem"], ["aria-level", box.row + 1], ["aria-label", box.said], ["tabindex", -1]]) box.group.setAttribute(name, value);
        box.group.addEventListener("focus", () => this.enter(box));
        box.group.addEventListener("mouseenter", () => this.read(box));
        box.group.addEventListener("click", () => this.zoom(box));
        box.group.addEventListener("keydown", event => this.key(event, box));
      }
      this.here = this.root;
      this.root.group.setAttribute("tabindex", 0);
      this.zoom(this.root);
      this.read(this.root);
      element.classList.add("drawn");
      addEventListener("beforeprint", () => this.zoom(this.root));
    }

    read(box) {
      this.reading.textContent = box.said;
    }

    enter(box) {
      this.here.group.setAttribute("tabindex", -1);
      box.group.setAttribute("tabindex", 0);
      this.here = box;
      this.read(box);
    }

    key(event, box) {
      const seen = this.boxes.filter(one => !one.group.hasAttribute("hidden"));
      const row = seen.filter(one => one.row === box.row).sort((a, b) => a.left - b.left);
      const over = (low, high) => within(low, high) && low.row + 1 === high.row;
      const to = {
        ArrowUp: () => seen.filter(one => over(box, one)).sort((a, b) => (b.right - b.left) - (a.right - a.left))[0],
        ArrowDown: () => seen.find(one => over(one, box)),
        ArrowLeft: () => row[row.indexOf(box) - 1],
        ArrowRight: () => row[row.indexOf(box) + 1],
        Home: () => seen[0],
      }[event.key];
      if (event.key === "Enter" || event.key === " ") this.zoom(box);
      else if (event.key === "Escape") this.zoom(this.root);
      else if (to) to()?.group.focus();
      else return;
      event.preventDefault();
    }

    zoom(to) {
      const [left, whole] = [this.root.left, this.root.right - this.root.left];
      const scale = whole / (to.right - to.left);
      for (const box of this.boxes) {
        const below = box.row < to.row && within(box, to);
        const shown = below || (box.row >= to.row && within(to, box));
        box.group.toggleAttribute("hidden", !shown);
        box.group.style.display = shown ? "" : "none";
        if (!shown) continue;
        const [x, width] = below ? [left, whole] : [left + (box.left - to.left) * scale, (box.right - box.left) * scale];
        box.rect.setAttribute("x", x);
        box.rect.setAttribute("width", width);
        this.label(box, x, width);
      }
      if (this.here.group.hasAttribute("hidden")) this.enter(to);
    }

    // As much of the name as there is room for, as in the still picture.
    label(box, x, width) {
      const [room, letters] = [Math.max(0, Math.floor((width - 6) / 7.3)), [...box.name]];
      const text = letters.length <= room ? box.name : room <= 3 ? "" : letters.slice(0, room - 2).join("") + "..";
      if (!box.text) {
        if (!text) return;
        box.text = box.group.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "text"));
        box.text.setAttribute("y", Number(box.rect.getAttribute("y")) + 13);
      }
      box.text.setAttribute("x", x + 3);
      box.text.textContent = text;
    }
  }

  // Whether box `outer` is as wide as `inner` and where that is; places are written with two decimals.
  function within(outer, inner) {
    return outer.left <= inner.left + 0.02 && outer.right >= inner.right - 0.02;
  }

  function plainly(x) {
    return Number.isInteger(x) ? String(x) : String(+x.toPrecision(4));
  }

  const figures = [...document.querySelectorAll("figure[data-chart]")].map(element => new Figure(element, charts[+element.dataset.chart]));
  for (const element of document.querySelectorAll("figure.flame")) new Flame(element);
  dark.addEventListener("change", () => figures.forEach(figure => figure.build()));

  // On paper nothing can be opened.
  const opened = [];
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) {
      details.open = true;
      opened.push(details);
    }
  });
  addEventListener("afterprint", () => opened.splice(0).forEach(details => { details.open = false; }));
})();
