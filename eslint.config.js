import js from "@eslint/js";

export default [
  { ignores: [".venv/", "demo/", "gallery/", "benchmarks/", "hunt/", "docs/"] },
  js.configs.recommended,
  {
    rules: {
      "no-undef": "off", // tsc finds these, and knows the names of the browser
      "no-unused-vars": ["error", { ignoreRestSiblings: true }],
      "no-var": "error",
      "prefer-const": ["error", { destructuring: "all" }],
      eqeqeq: "error",
    },
  },
];
