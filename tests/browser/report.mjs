// Opens reports from file: in Debian's Chromium and does what readers do: looks at both themes, hovers, toggles, zooms, goes
// by keyboard, prints. Usage: node report.mjs CHROMIUM PAGES RECORD [PICTURES]
//   PAGES     a directory of pages; run.html in it was made from RECORD
//   RECORD    the run as JSON
//   PICTURES  where to leave screenshots and the printed pages
import { createRequire } from "node:module";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const [, , executablePath, pages, record, pictures] = process.argv;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const run = JSON.parse(readFileSync(record, "utf8"));
const number = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 6 });
// Milliseconds. A machine may be busy with other tests.
const PATIENCE = 120_000;
let failed = 0;
let passed = 0;

async function test(name, body) {
  try {
    await body();
    passed += 1;
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}\n  ${String(error.message).replaceAll("\n", "\n  ")}`);
  }
}

// What a page says and asks for while `body` looks at it must be nothing.
async function open(browser, file, options, body) {
  const context = await browser.newContext({ viewport: { width: 1000, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const said = [];
  page.on("console", message => said.push(`console: ${message.text()}`));
  page.on("pageerror", error => said.push(`error: ${error.message}`));
  const url = pathToFileURL(join(pages, file)).href;
  page.on("request", request => { if (request.url() !== url) said.push(`asked for ${request.url()}`); });
  try {
    await page.goto(url);
    await body(page);
    assert.deepEqual(said, []);
  } finally {
    await context.close();
  }
}

// A page answers in timers, frames and media events of its own, on a busy machine late: what it must come to show is waited for.
async function comes(what, read, wanted) {
  const deadline = Date.now() + PATIENCE;
  let value = await read();
  while (!wanted(value) && Date.now() < deadline) {
    await new Promise(done => { setTimeout(done, 50); });
    value = await read();
  }
  assert(wanted(value), `${what}: after ${PATIENCE / 1000} s it is still ${String(value).slice(0, 80)}`);
}
const comesTo = (what, read, value) => comes(what, read, one => one === value);
const leaves = (what, read, value) => comes(what, read, one => one !== value);

// What is compared with later must have come to rest: a plot is drawn again once its place in the page is known.
async function settled(what, read) {
  let before;
  return comes(`${what} changes all the time`, read, one => { const rests = one === before; before = one; return rests; }).then(() => before);
}

const picture = (page, name) => pictures && page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });

// Moves the pointer over a plot, to a share of its width.
async function hover(page, figure, at) {
  const over = figure.locator(".u-over").first();
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  await page.mouse.move(box.x + at * box.width, box.y + box.height / 2);
}

// Not black and not empty: pixels of a plot that have a colour.
const inked = figure => figure.locator("canvas").first().evaluate(canvas => {
  // Of a copy: the browser complains of a canvas that is read more than once.
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    const spread = Math.max(data[at], data[at + 1], data[at + 2]) - Math.min(data[at], data[at + 1], data[at + 2]);
    if (data[at + 3] > 128 && spread > 60) count += 1;
  }
  return count;
});

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  for (const file of readdirSync(pages).filter(name => name.endsWith(".html")).sort()) {
    for (const colorScheme of ["light", "dark"]) {
      await test(`${file}, ${colorScheme}: loads alone, says nothing, and axe finds nothing`, () =>
        open(browser, file, { colorScheme }, async page => {
          const figures = page.locator("figure[data-chart]");
          assert(await figures.count() > 0);
          for (const figure of await figures.all()) {
            assert(await figure.locator("canvas").count() > 0, "a figure without a plot");
            assert(!await figure.locator(".still").isVisible(), "the still picture is shown beside the live one");
          }
          await picture(page, `${file}-${colorScheme}`);
          for (const details of await page.locator("details").all()) await details.evaluate(one => { one.open = true; });
          await page.evaluate(axe);
          const { violations } = await page.evaluate(() => window.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"] }));
          const found = violations.map(one => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map(node => node.html.slice(0, 120)).join(" | ")}`);
          assert.deepEqual(found, []);
        }));
    }

    await test(`${file}: without script the still pictures are there`, () =>
      open(browser, file, { javaScriptEnabled: false }, async page => {
        for (const still of await page.locator(".still svg").all()) assert(await still.isVisible());
        assert(await page.locator(".still svg").count() > 0);
        for (const graph of await page.locator(".flame svg").all()) {
          assert(await graph.isVisible() && await graph.locator("title").count() > 0);
        }
        await picture(page, `${file}-noscript`);
      }));

    await test(`${file}: every control is reached with the keyboard and has a name`, () =>
      open(browser, file, {}, async page => {
        const wanted = await page.locator("input, button, summary, .wide").count();
        const seen = new Set();
        for (let press = 0; press < wanted + 50; press += 1) {
          await page.keyboard.press("Tab");
          const at = await page.evaluate(() => {
            const all = [...document.querySelectorAll("input, button, summary, .wide")];
            const active = document.activeElement;
            const named = active.getAttribute("aria-label") || active.textContent.trim() || [...active.labels || []].map(one => one.textContent.trim()).join();
            const outlined = getComputedStyle(active).outlineStyle !== "none";
            return { index: all.indexOf(active), visible: active.checkVisibility(), named, outlined };
          });
          if (at.index < 0) continue;
          assert(at.named, `control ${at.index} has no name`);
          assert(at.outlined, `one does not see that ${at.named} has the focus`);
          seen.add(at.index);
        }
        const hidden = await page.evaluate(() => [...document.querySelectorAll("input, button, summary, .wide")].filter(one => !one.checkVisibility()).length);
        assert.equal(seen.size, wanted - hidden);
      }));

    await test(`${file}: a narrow window does not cut it`, () =>
      open(browser, file, { viewport: { width: 360, height: 800 } }, async page => {
        const room = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        await comes("pixels too wide", room, over => over <= 0);
        await picture(page, `${file}-narrow`);
      }));

    await test(`${file}: on paper all curves are there`, () =>
      open(browser, file, {}, async page => {
        // What was switched off on the screen is on paper nevertheless.
        await page.locator("input[data-series]").first().uncheck();
        await page.emulateMedia({ media: "print" });
        for (const graph of await page.locator(".flame svg").all()) assert(await graph.isVisible());
        for (const figure of await page.locator("figure[data-chart]").all()) {
          assert(await figure.locator(".still svg").isVisible());
          assert(!await figure.locator(".live").isVisible());
          const series = await figure.evaluate(one => JSON.parse(document.getElementById("charts").textContent)[+one.dataset.chart].panels.flatMap(panel => panel.series).filter(one => one.dots.length).length);
          const drawn = await figure.locator(".still g[clip-path] > g").count();
          assert(drawn >= series, `${drawn} drawn of ${series}`);
        }
        const pdf = await page.pdf({ path: pictures && join(pictures, `${file}.pdf`), format: "A4" });
        assert(pdf.length > 10_000 && pdf.subarray(0, 5).toString() === "%PDF-");
      }));
  }

  await test("a hover and the slider say what the record has", () =>
    open(browser, "run.html", {}, async page => {
      const figure = page.locator("figure").first();
      const curve = run.curves[0];
      const value = figure.locator(".value").first();
      for (const [at, point] of [[0.01, curve.points[0]], [0.99, curve.points.at(-1)]]) {
        const interval = point.ci95 ? ` [${number.format(point.ci95[0])}, ${number.format(point.ci95[1])}]` : "";
        // The page may move below a pointer that rests.
        const hovered = async () => { await hover(page, figure, at); return value.textContent(); };
        await comesTo("the value below the pointer", hovered, number.format(point.ops_per_s) + interval);
        await comesTo("the place of the pointer", () => figure.locator("output").textContent(), `${point.tasks} task${point.tasks === 1 ? "" : "s"}`);
      }
      const slider = figure.locator("input[type=range]");
      await page.mouse.move(0, 0);
      await slider.focus();
      await page.keyboard.press("Home");
      const first = number.format(curve.points[0].ops_per_s);
      await comes("the value at the slider's left end", () => value.textContent(), one => one.startsWith(first));
      await page.keyboard.press("ArrowRight");
      const second = number.format(curve.points[1].ops_per_s);
      await comes("the value one to the right", () => value.textContent(), one => one.startsWith(second));
      assert((await slider.getAttribute("aria-valuetext")).includes(second), "the slider does not say the value");
    }));

  await test("a click and a key take a curve away and bring it back", () =>
    open(browser, "run.html", {}, async page => {
      const figure = page.locator("figure").first();
      const all = await settled("the number of pixels", () => inked(figure));
      const entry = figure.locator("label.entry").first();
      await entry.click();
      await comes(`pixels left of ${all}`, () => inked(figure), fewer => fewer < all);
      await comesTo("the value of a curve that is away", () => figure.locator(".value").first().textContent(), "");
      await entry.locator("input").focus();
      await page.keyboard.press("Space");
      await comesTo("pixels of all curves", () => inked(figure), all);
    }));

  await test("zoom by button, by drag, and back; both axes linear and logarithmic", () =>
    open(browser, "run.html", {}, async page => {
      const figure = page.locator("figure").first();
      const shape = () => figure.locator("canvas").first().evaluate(async canvas => {
        const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canvas.toDataURL()));
        return [...new Uint8Array(hash)].map(byte => byte.toString(16)).join("");
      });
      // Where the cursor is does not change the drawing: it lies above.
      const whole = await settled("the plot", shape);
      await figure.getByRole("button", { name: "Zoom in" }).click();
      await leaves("zoom in by button", shape, whole);
      await figure.getByRole("button", { name: "Show all" }).click();
      await comesTo("show all", shape, whole);
      const box = await figure.locator(".u-over").first().boundingBox();
      await page.mouse.move(box.x + box.width * 0.2, box.y + 40);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.7, box.y + 60, { steps: 4 });
      await page.mouse.up();
      await leaves("zoom by drag", shape, whole);
      await figure.locator(".u-over").first().dblclick();
      await comesTo("a double click shows all", shape, whole);
      for (const name of ["log x", "log y", "intervals", "linear scaling"]) {
        const box = figure.getByLabel(name);
        if (!await box.count()) continue;
        await box.click();
        await leaves(name, shape, whole);
        await box.click();
        await comesTo(name, shape, whole);
      }
    }));

  await test("a page follows when the theme changes", () =>
    open(browser, "run.html", { colorScheme: "light" }, async page => {
      const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      const plot = () => page.locator("canvas").first().evaluate(one => one.toDataURL());
      const [light, drawn] = [await ground(), await settled("the plot", plot)];
      await page.emulateMedia({ colorScheme: "dark" });
      await leaves("the ground", ground, light);
      await leaves("the plot", plot, drawn);
    }));

  await test("a flame graph is gone through and enlarged with keys and with the pointer", () =>
    open(browser, "locks-stacks.html", {}, async page => {
      const figure = page.locator("figure.flame");
      const boxes = figure.locator("g[role=treeitem]");
      const here = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
      const widths = () => boxes.evaluateAll(all => all.map(one => one.hasAttribute("hidden") ? 0 : Number(one.querySelector("rect").getAttribute("width"))).join(" "));
      const whole = await widths();
      assert.equal(await figure.locator("g[tabindex='0']").count(), 1, "one box is reached with Tab, the others with arrows");
      await boxes.first().focus();
      const all = await here();
      assert(all.startsWith("all: "), all);
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("ArrowUp");
      const [widest, told] = [await here(), () => figure.locator(".said").textContent()];
      assert(widest.startsWith("sys_unlink: "), widest);
      await comesTo("the figures of the box", told, widest);
      await page.keyboard.press("ArrowLeft");
      const next = await here();
      assert(next !== widest, "the box beside it");
      await page.keyboard.press("Enter");
      await leaves("a box enlarged by key", widths, whole);
      const drawn = await boxes.evaluateAll(found => found.filter(one => !one.hasAttribute("hidden")).map(one => one.getAttribute("aria-label").split(":")[0]));
      assert(drawn.includes(next.split(":")[0]) && !drawn.includes("sys_unlink"), drawn.join());
      await picture(page, "flame-enlarged");
      await page.keyboard.press("Escape");
      await comesTo("Escape shows all", widths, whole);
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Home");
      assert.equal(await here(), all);
      await boxes.nth(4).click();
      await leaves("a box enlarged by the pointer", widths, whole);
      await figure.getByRole("button", { name: "Show all" }).click();
      await comesTo("the button shows all", widths, whole);
    }));
} finally {
  await browser.close();
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
