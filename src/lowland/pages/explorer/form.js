// A form generated from the parameters of a method: the common ones first, the others behind "More".

import { el } from "../view/elements.js";
import { sentenceOf } from "./api.js";
import { button, replace } from "./elements.js";
import { asPython } from "./words.js";

/** @type {(parameter: ParameterRecord, kind: string) => boolean} */
const has = (parameter, kind) => parameter.kinds.includes(kind);
const DECIMAL = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

// A text as the value of a parameter; throws a sentence if it is none. The server checks whether it is allowed.
/** @type {(parameter: ParameterRecord, text: string) => unknown} */
function parseParameter(parameter, text) {
  const { name, choices, words } = parameter;
  const written = text.trim();
  const fail = () => {
    throw new Error(`${name} must be ${words}.`);
  };
  if (choices?.includes(written)) return written;
  if (/^none$/i.test(written) && has(parameter, "none")) return null;
  if (/^(true|false)$/i.test(written) && has(parameter, "bool")) return /^true$/i.test(written);
  if (DECIMAL.test(written) && (has(parameter, "int") || has(parameter, "float"))) {
    const value = Number(written);
    return has(parameter, "float") || Number.isInteger(value) ? value : fail();
  }
  if (has(parameter, "numbers")) {
    const parts = written
      .replace(/^[[(]|[\])]$/g, "")
      .split(/[\s,]+/)
      .filter(Boolean);
    if (parts.length && parts.every((part) => DECIMAL.test(part))) return parts.map(Number);
  }
  return has(parameter, "rule") ? written : fail();
}

/** @type {(method: MethodRecord, options: { values?: Record<string, unknown>, onchange?: () => void }) => ParameterForm} */
export function parameterForm(method, { values = {}, onchange }) {
  const given = new Map(); // name -> value, only those that differ from the default
  const wrong = new Map(); // name -> sentence
  const box = el("div", { class: "parameters" });

  let made = false; // values that are given do not change anything
  const tell = () => made && onchange?.();
  function take(parameter, text, said) {
    wrong.delete(parameter.name);
    given.delete(parameter.name);
    if (text.trim() !== "") {
      try {
        const value = parseParameter(parameter, text);
        if (JSON.stringify(value) !== JSON.stringify(parameter.default)) given.set(parameter.name, value);
      } catch (error) {
        wrong.set(parameter.name, sentenceOf(error));
      }
    }
    said.textContent = wrong.get(parameter.name) ?? "";
    said.hidden = !wrong.has(parameter.name);
    said.previousSibling?.toggleAttribute("data-wrong", wrong.has(parameter.name));
    said.parentNode?.classList.toggle("changed", given.has(parameter.name));
    tell();
  }

  function control(parameter) {
    const { name, choices, kinds, default: usual } = parameter;
    const start = values[name];
    const said = el("small", { class: "wrong", role: "alert", hidden: true });
    let input;
    const heed = () => take(parameter, input.value, said);
    if (choices?.length && kinds.every((kind) => kind === "none")) {
      const options = [...choices, ...(kinds.includes("none") ? ["None"] : [])];
      const shown = start === undefined ? (usual ?? "None") : (start ?? "None");
      input = el(
        "select",
        { onchange: heed },
        options.map((option) =>
          el(
            "option",
            { value: option, selected: option === shown },
            option === (usual ?? "None") ? `${option} (default)` : option,
          ),
        ),
      );
    } else if (kinds.length === 1 && kinds[0] === "bool" && !choices?.length) {
      const checked = start === undefined ? Boolean(usual) : Boolean(start);
      input = el(
        "select",
        { onchange: heed },
        [true, false].map((each) =>
          el(
            "option",
            { value: String(each), selected: each === checked },
            `${each ? "yes" : "no"}${each === Boolean(usual) ? " (default)" : ""}`,
          ),
        ),
      );
    } else {
      const list = choices?.length ? `choices-${method.verb}-${name}` : null;
      const numeric = kinds.length > 0 && kinds.every((kind) => ["int", "float", "none"].includes(kind)) && !list;
      input = el("input", {
        type: "text",
        value: start === undefined ? "" : valueText(start),
        placeholder: placeholder(parameter),
        list,
        inputmode: numeric ? "decimal" : null,
        autocomplete: "off",
        spellcheck: "false",
        oninput: heed,
      });
      if (numeric)
        input.addEventListener("keydown", (event) => {
          const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
          const from = Number(input.value || usual);
          if (!step || !Number.isFinite(from) || (input.value === "" && usual === null)) return;
          event.preventDefault();
          input.value = Number(
            (
              from +
              step * (has(parameter, "int") && Number.isInteger(from) ? 1 : Math.max(Math.abs(from), 0.01) / 10)
            ).toPrecision(6),
          );
          heed();
        });
      if (list)
        box.append(
          el(
            "datalist",
            { id: list },
            choices.map((option) => el("option", { value: option })),
          ),
        );
    }
    input.setAttribute("name", name);
    const line = el(
      "label",
      { class: "parameter" },
      el("span", { class: "field-name" }, name.replaceAll("_", " ")),
      input,
      said,
      el("small", { class: "doc" }, parameter.doc),
    );
    if (start !== undefined) take(parameter, valueText(start), said);
    return line;
  }

  function fill() {
    replace(box);
    const common = method.parameters.filter((parameter) => !parameter.advanced);
    const rest = method.parameters.filter((parameter) => parameter.advanced);
    box.append(
      ...common.map(control),
      ...(rest.length
        ? [
            el(
              "details",
              { class: "further", open: rest.some((parameter) => parameter.name in values) },
              el("summary", null, `More (${rest.length})`),
              rest.map(control),
            ),
          ]
        : []),
      el("div", { class: "row" }, button("Reset to defaults", { kind: "small link", onclick: () => reset() })),
    );
  }
  function reset() {
    values = {};
    given.clear();
    wrong.clear();
    fill();
    tell();
  }
  fill();
  made = true;
  return { element: box, values: () => Object.fromEntries(given), problems: () => [...wrong.values()] };
}

/** @type {(value: unknown) => string} */
const valueText = (value) => (Array.isArray(value) ? value.join(", ") : value === null ? "None" : String(value));

/** @type {(parameter: ParameterRecord) => string} */
function placeholder(parameter) {
  const usual = parameter.default;
  if (usual === null || usual === undefined) return "automatic";
  return Array.isArray(usual) ? usual.join(", ") : typeof usual === "string" ? usual : asPython(usual);
}
