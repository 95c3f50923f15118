/** Taggers, language models and captioners, where the page has them. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { LOCAL, PHONE, check, parameter, saved, settled, translations, violations } from "./checks.mjs";

const CAPTIONER = "show_attend_tell";

/** Those of some models that the page has. */
async function present(visit, ...names) {
  const page = await visit(LOCAL);
  const listed = await page.locator(".presets option").evaluateAll((all) => all.map((one) => one.value));
  await page.context().close();
  return names.filter((name) => listed.includes(name));
}

check("a tagger and a language model", async (visit) => {
  for (const name of await present(visit, "birnn", "lstmn_lm")) {
    const reader = await visit(`models=${name}&step=1`, { reducedMotion: "reduce" });
    assert.match(await reader.locator(".reading-word").nth(1).textContent(), /little/);
    await reader.locator(".reading").nth(2).focus();
    await reader.keyboard.press("Enter");
    assert.match(await reader.locator(".candidates h3").textContent(), /“girl”/);
    assert.equal(await reader.locator(".candidates li").count(), 10);
    await reader.waitForSelector(".formula .katex");
    assert.deepEqual(await violations(reader), []);
    await reader.context().close();
  }
});

check("a captioner's words and places, by pointer and by keys", async (visit) => {
  if (!(await present(visit, CAPTIONER)).length) return;
  const page = await visit(`models=${CAPTIONER}&step=1`, { reducedMotion: "reduce" });
  const dims = () => page.$$eval(".column .dim", (all) => all.map((one) => Number(one.style.opacity)));
  assert.ok((await dims()).every((dim) => dim === 0));
  const words = page.locator(".column .caption-word");
  await words.nth(1).hover();
  const dim = await dims();
  assert.ok(Math.min(...dim) === 0 && Math.max(...dim) > 0.5);
  await page.locator(`.column [data-place="${dim.indexOf(0)}"]`).hover();
  const lit = await words.evaluateAll((all) => all.filter((one) => one.style.background).map((one) => one.textContent));
  assert.ok(lit.includes(await words.nth(1).textContent()));
  assert.match(await page.locator(".column .readout").textContent(), /^row \d+, column \d+\. Looked at most by: /);
  // By keys: to the words, along them, over the places, and attention moved.
  await words.nth(0).focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), await words.nth(1).textContent());
  const [untouched] = await translations(page);
  await page.getByLabel("Numbers over the picture").check();
  assert.ok((await page.locator(".tabpanel .place-number").count()) > 3);
  await page.getByText("The same as a table of numbers").click();
  await page.waitForSelector(".as-table tbody tr");
  await page.mouse.move(2, 2);
  await page.locator(".tabpanel .place").first().focus();
  for (const key of ["ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
  for (let i = 0; i < 8; i++) await page.keyboard.press("+");
  await settled(page);
  assert.match(await parameter(page, `edit.${CAPTIONER}`), /^a1:/);
  assert.equal(await page.locator(".comparison dd").first().textContent(), untouched);
  await page.getByRole("button", { name: "Undo all" }).click();
  await settled(page);
  assert.deepEqual(await translations(page), [untouched]);
});

check("a captioner's pictures: examples, and one's own", async (visit, { downloads }) => {
  if (!(await present(visit, CAPTIONER)).length) return;
  const page = await visit(`models=${CAPTIONER}&step=1`, { reducedMotion: "reduce" });
  const example = page.getByRole("button", { name: "Example picture 2" });
  const own = page.getByRole("button", { name: "Your picture" });
  const chosen = page.getByRole("button", { name: "Your picture", pressed: true });
  const [first] = await translations(page);
  await example.click();
  await settled(page);
  assert.notEqual((await translations(page))[0], first);
  assert.equal(await parameter(page, "picture"), "1");
  assert.equal(await own.count(), 0);
  const source = await page.locator(".thumbnail img").first().getAttribute("src");
  const content = source.split(",")[1];
  const file = { name: "a.png", mimeType: "image/png", buffer: Buffer.from(content, "base64") };
  await page.getByLabel("Choose a picture").setInputFiles({ ...file, mimeType: "image/gif", name: "a.gif" });
  await page.waitForSelector(".chooser [role=alert]");
  await page.getByLabel("Choose a picture").setInputFiles(file);
  await chosen.waitFor();
  assert.equal(await page.locator(".chooser [role=alert]").count(), 0);
  for (const kind of ["drop", "paste"]) {
    await example.click();
    await page.evaluate(
      ([kind, content]) => {
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], "a.png", { type: "image/png" }));
        const event =
          kind === "drop"
            ? new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })
            : new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
        document.querySelector(".chooser").dispatchEvent(event);
      },
      [kind, content],
    );
    await chosen.waitFor();
  }
  await settled(page);
  // After an example it can be chosen again, by keys alone.
  const said = await translations(page);
  await page.locator(".thumbnail").nth(-2).focus();
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(await parameter(page, "picture"), /^\d+$/);
  assert.equal(await own.getAttribute("aria-pressed"), "false");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await chosen.waitFor();
  await settled(page);
  assert.deepEqual(await translations(page), said);
  // The link has it, and files keep what is drawn.
  const bytes = await readFile(await saved(page, "PNG", downloads));
  assert.ok(bytes.subarray(1, 4).toString() === "PNG" && bytes.readUInt32BE(16) > 400);
  const link = await page.evaluate(() => location.hash.slice(1));
  await page.context().close();
  const copy = await visit(link);
  assert.deepEqual(await translations(copy), said);
});

check("a captioner on a phone, light and dark: axe finds nothing", async (visit) => {
  if (!(await present(visit, CAPTIONER)).length) return;
  for (const colorScheme of ["light", "dark"]) {
    for (const tab of ["attention", "steps", "beam"]) {
      const options = { colorScheme, reducedMotion: "reduce", ...PHONE };
      const page = await visit(`models=${CAPTIONER}&tab=${tab}&step=2`, options);
      if (tab === "steps") await page.waitForSelector(".formula .katex");
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, tab);
      assert.deepEqual(await violations(page), [], tab);
      await page.context().close();
    }
  }
});
