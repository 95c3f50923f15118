/** What if: other words, moved attention, another window. */

import assert from "node:assert/strict";
import { LOCAL, PHONE, check, parameter, settled, translations } from "./checks.mjs";

check("5 force a word, ban one, and compare with the untouched run", async (visit) => {
  const page = await visit(`${LOCAL}&tab=steps&step=1`);
  const [untouched] = await translations(page);
  const other = page.locator(".candidates li:not(.chosen)").first();
  const piece = (await other.locator(".candidate-word").textContent()).trim();
  await other.locator(".candidate").click();
  await settled(page);
  const [forced] = await translations(page);
  assert.notEqual(forced, untouched);
  assert.ok(forced.includes(piece.replace(/^-/, "")), `${piece} in ${forced}`);
  assert.equal(await page.locator(".comparison dd").first().textContent(), untouched);
  assert.ok((await page.locator(".comparison :is(ins, del)").count()) > 0);
  await page.getByRole("button", { name: "Undo all" }).click();
  await settled(page);
  assert.deepEqual(await translations(page), [untouched]);
  assert.equal(await page.locator(".what-if").count(), 0);
  const banned = (await page.locator(".candidates li.chosen .candidate-word").textContent()).trim();
  await page.locator(".candidates li.chosen .ban").click();
  await settled(page);
  assert.equal((await page.locator(".banned .candidate-word").textContent()).trim(), banned);
  assert.notEqual((await page.locator(".chosen .candidate-word").textContent()).trim(), banned);
  assert.ok((await page.locator(".chip").first().textContent()).includes(banned));
  await page.locator(".chip button").first().click();
  await settled(page);
  assert.deepEqual(await translations(page), [untouched]);
  await page.getByLabel("Another piece").fill("qqqqq<b>");
  await page.keyboard.press("Enter");
  assert.match(await page.locator(".typed [role=status]").textContent(), /qqqqq<b>.*not one piece/);
});

check("5 move attention by dragging and by keys, and switch the window", async (visit) => {
  const page = await visit(`${LOCAL}&tab=steps&step=3`);
  const [untouched] = await translations(page);
  const bars = page.locator(".source-bar");
  const count = await bars.count();
  const target = bars.nth(count - 2);
  await target.scrollIntoViewIfNeeded();
  const box = await target.locator(".bar-room").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height - 3);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + 4, { steps: 6 });
  await page.mouse.up();
  await settled(page);
  assert.match(await parameter(page, "edit.luong_local"), /^a3:[\d.]+$/);
  const weight = Number(await bars.nth(count - 2).getAttribute("aria-valuenow"));
  assert.ok(weight > 80, `${weight}`);
  assert.match(await page.locator(".chip").first().textContent(), /attention moved/);
  const [moved] = await translations(page);
  assert.notEqual(moved, untouched);
  await bars.nth(0).focus();
  await page.keyboard.press("End");
  await settled(page);
  assert.equal(await bars.nth(0).getAttribute("aria-valuenow"), "100");
  await page.getByRole("button", { name: "Undo all" }).click();
  await page.getByRole("tab", { name: "Attention" }).click();
  await settled(page);
  const cell = page.locator(".heatmap [role=gridcell]").nth(count - 1);
  await cell.scrollIntoViewIfNeeded();
  const place = await cell.boundingBox();
  await page.mouse.move(place.x + place.width / 2, place.y + place.height / 2);
  await page.mouse.down();
  await page.mouse.move(place.x + place.width / 2, place.y - 100, { steps: 6 });
  await page.mouse.up();
  await settled(page);
  assert.match(await parameter(page, "edit.luong_local"), /^a0:/);
  await cell.focus();
  await page.keyboard.press("-");
  await settled(page);
  await page.getByRole("button", { name: "Undo all" }).click();
  const window = page.getByRole("slider", { name: "Window D" });
  await window.focus();
  await page.keyboard.press("Home");
  await settled(page);
  assert.equal(await parameter(page, "edit.luong_local"), "w1");
  assert.match(await page.locator(".chip").first().textContent(), /window D = 1/);
});

check("5 move the attention of one head alone", async (visit) => {
  const page = await visit("models=transformer&head=1.2");
  const [untouched] = await translations(page);
  const cell = page.locator(".heatmap [role=gridcell]").nth(1);
  for (let i = 0; i < 9; i++) {
    await cell.focus();
    await page.keyboard.press("+");
    await settled(page);
  }
  assert.match(await parameter(page, "edit.transformer"), /^a0\.1\.2:[\d.]+/);
  assert.match(await page.locator(".chip").first().textContent(), /attention moved at “.+” \(Layer 2, head 3\)/);
  const label = async (head) => {
    await page.getByRole("radio", { name: head }).click();
    await page.waitForTimeout(100);
    return cell.getAttribute("aria-label");
  };
  const weight = async (head) => Number((await label(head)).match(/(\d+) %/)[1]);
  assert.ok((await weight("Layer 2, head 3")) > 85);
  const other = await weight("Layer 1, head 1"); // before the one that was changed
  await page.getByRole("button", { name: "Undo all" }).click();
  await settled(page);
  assert.equal(await weight("Layer 1, head 1"), other);
  assert.deepEqual(await translations(page), [untouched]);
});

check("5 move attention by touch, and scroll by touch", async (visit) => {
  const page = await visit(`${LOCAL}&tab=steps&step=3`, PHONE);
  const client = await page.context().newCDPSession(page);
  const swipe = async (locator, by) => {
    await locator.scrollIntoViewIfNeeded();
    const { x, y, width, height } = await locator.boundingBox();
    const at = [x + width / 2, y + height / 2];
    const touch = (type, points) => client.send("Input.dispatchTouchEvent", { type, touchPoints: points });
    await touch("touchStart", [{ x: at[0], y: at[1] }]);
    for (let i = 1; i <= 10; i++) await touch("touchMove", [{ x: at[0], y: at[1] + (by * i) / 10 }]);
    await touch("touchEnd", []);
    await settled(page);
  };
  const edits = () => parameter(page, "edit.luong_local");
  await swipe(page.locator(".source-bar .bar-room").nth(1), -35);
  assert.match(await edits(), /^a3:/);
  await page.getByRole("button", { name: "Undo all" }).click();
  await page.getByRole("tab", { name: "Attention" }).tap();
  await settled(page);
  const cell = page.locator(".heatmap [role=gridcell] rect").nth(14);
  const top = () => page.evaluate(() => scrollY);
  await cell.scrollIntoViewIfNeeded();
  const before = await top();
  await swipe(cell, -100);
  assert.equal(await edits(), null); // that scrolled
  assert.ok((await top()) > before + 30, `${before} ${await top()}`);
  await cell.scrollIntoViewIfNeeded();
  await cell.tap();
  await swipe(cell, -100);
  assert.match(await edits(), /^a1:/);
});
