// Small drawings on buttons, 16 by 16.

import { svg } from "./elements.js";

/** @type {Record<string, string>} */
const PATHS = {
  look: "M8 2v12M2 8h12M8 2 6.2 3.8M8 2l1.8 1.8M8 14l-1.8-1.8M8 14l1.8-1.8M2 8l1.8-1.8M2 8l1.8 1.8M14 8l-1.8-1.8M14 8l-1.8 1.8",
  box: "M3 3h2M7 3h2M11 3h2v2M13 7v2M13 11v2h-2M9 13H7M5 13H3v-2M3 9V7M3 5V3",
  lasso:
    "M8 2.5c3.3 0 6 1.8 6 4.2s-2.7 4.2-6 4.2-6-1.8-6-4.2 2.700-4.200 6-4.200M4.500 10.200c-1.200.800-1 2.300.300 2.500 1 .100 1.200 1 .700 1.800",
  brush:
    "M13.500 2.500 7.500 8.500M6.500 8.200c-2 0-2.600 1.500-2.800 3.300-.1.900-.700 1.500-1.700 1.700 2.500.900 6.500.300 6.500-2.600 0-.800-.700-2.400-2-2.400",
  home: "M3.500 6.500a5 5 0 1 1-.4 3.400M3 2.800v3.900h3.900",
  large: "M9.500 2.500h4v4M6.500 13.500h-4v-4M13.500 2.500l-4.500 4.500M2.500 13.500l4.500-4.500",
  small: "M13 7H9V3M3 9h4v4M9 7l4.500-4.500M7 9l-4.500 4.500",
  more: "M3.500 8h.01M8 8h.01M12.500 8h.01",
  solid: "M8 2 13.500 5v6L8 14 2.500 11V5ZM2.500 5 8 8l5.500-3M8 8v6",
};

/** @type {(name: string) => SVGElement} */
export function icon(name) {
  const bold = name === "more" ? "2.4" : "1.4";
  return svg(
    "svg",
    { viewBox: "0 0 16 16", width: "16", height: "16", "aria-hidden": "true", class: "lv-icon" },
    svg("path", {
      d: PATHS[name],
      fill: "none",
      stroke: "currentColor",
      "stroke-width": bold,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
    }),
  );
}
