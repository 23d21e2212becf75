// Types of the data that cross modules, for tsc --checkJs. The pages do not load this file.

// --- values

type NumberArray = Float32Array | Float64Array | Uint8Array | Uint16Array | Uint32Array;
type Texts = (string | null)[];
type Values = NumberArray | Texts;
type Mask = ArrayLike<number>; // 0 or 1 for each row
type Point = [number, number]; // in pixels
type Better = "higher" | "lower";

// --- what the browser has

interface Array<T> {
  filter(test: BooleanConstructor): Exclude<T, false | null | undefined | "" | 0>[];
}

interface ParentNode {
  querySelector<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
  querySelector(selectors: string): HTMLElement | null; // drawings in SVG are not searched
  querySelectorAll<K extends keyof HTMLElementTagNameMap>(selectors: K): NodeListOf<HTMLElementTagNameMap[K]>;
  querySelectorAll(selectors: string): NodeListOf<HTMLElement>;
}

// --- elements

type Child = Node | string | number | boolean | null | undefined | Child[];
type Handler<E> = ((event: E) => unknown) | null | undefined | false;
interface Attributes {
  onclick?: Handler<MouseEvent>;
  onkeydown?: Handler<KeyboardEvent>;
  onpointerdown?: Handler<PointerEvent>;
  [name: string]: string | number | boolean | null | undefined | ((event: any) => unknown); // other events
}
interface Option {
  value: string;
  text: string;
  group?: string | null;
}
interface Action {
  text: string;
  run: (map: MapData) => unknown;
}

// --- table and maps of a view (view/model.js)

type Table = import("./view/model.js").Table;
type Column = import("./view/model.js").Column;
type MapData = import("./view/model.js").MapData;
type View = import("./view/view.js").View;
type Stage = import("./view/stage.js").Stage;
type Motion = import("./view/stage.js").Motion;
type RowStates = import("./view/rows.js").RowStates;
type Painter = import("./view/painter.js").Painter;
type Tooltip = import("./view/tooltip.js").Tooltip;
type Gestures = import("./view/gestures.js").Gestures;
type Panel = import("./view/panel.js").Panel;

type ColumnKind = "number" | "category" | "date" | "text";
type Loaded = Values | { values: Values; levels?: string[] };
interface ColumnFields {
  name: string;
  kind: ColumnKind;
  values?: Values | null;
  levels?: string[] | null;
  load?: (() => Loaded | Promise<Loaded>) | null;
}
interface TableFields {
  n: number;
  name?: string;
  ids?: (string | number)[] | null;
  columns?: (Column | ColumnFields)[];
  label?: number | null;
  rowNumbers?: Uint32Array | null;
  thumbnail?: ((row: number) => string | null) | null;
  details?: ((row: number) => Promise<Detail[]>) | null;
}
type Line = [name: string, text: string];
type RowTest = (row: number) => boolean;
type Detail = [name: string, text: unknown];

type Status = "queued" | "running" | "done" | "failed" | "canceled" | "broken";
interface Trust {
  readonly values: NumberArray;
  low?: number | null;
  high?: number | null;
  better?: Better | null;
}
interface Curve {
  x?: (number | string)[] | Float64Array | null;
  y: number[] | Float64Array;
  x_name?: string;
  y_name?: string;
  kind?: string;
}
type MapScore = number | null | { value: number | null };
interface MapClasses {
  name: string;
  codes: NumberArray;
  levels: string[];
}
interface MapFields {
  key: string;
  name?: string;
  subtitle?: string;
  coordinates?: Float32Array | null;
  components?: number;
  n?: number | null;
  status?: Status;
  progress?: { fraction?: number | null; text?: string } | null;
  error?: string | null;
  trust?: Record<string, Trust>;
  classes?: MapClasses | null;
  curves?: Record<string, Curve>;
  scores?: Record<string, MapScore>;
  placed?: Placed | null;
  overlay?: Overlay | null;
  badge?: string | null;
  axes?: Axis[] | null;
}
interface Axis {
  name: string;
  share: number | null; // of the variance
  columns: string[]; // with the largest weights
}
interface PlacedName {
  lines: string[];
  size: number; // of the letters
  x: number; // of its middle
  y: number;
  w: number; // half its width
  h: number;
}
interface PlacedAxis {
  text: string;
  x: number;
  y: number;
  size: number;
  anchor: "start" | "end";
  turned: boolean;
}
interface Anchors {
  frame: Frame;
  codes: ArrayLike<number>;
  shows: number;
  list: { code: number; many: number; slot: number }[];
}
interface Overlay {
  arrows?: { coordinates: Float32Array; names: string[] } | null; // the first point is where they begin
  contours?: Contour[] | null;
}
interface OverlayPath {
  d: string;
  stroke?: string;
  fill?: string;
  width?: number;
  opacity: number;
}
interface OverlayName {
  text: string;
  places: (w: number, h: number) => number[][];
}
interface Contour {
  value: number;
  coordinates: Float32Array; // two points for each segment
}
interface Placed {
  coordinates: Float32Array;
  names?: string[] | null;
}

// --- colors

interface Theme {
  name: "light" | "dark";
  paper: string;
  ink: string;
  soft: string;
  dim: string;
  missing: string;
  line: string;
  kept: string;
  missed: string;
  wrong: string;
  mark: string;
  scale: number[];
}
interface Stamped {
  side: number;
  half: number;
  pictures: Uint32Array[];
}
interface Look {
  shape: Shape;
  color: string;
  radius: number;
  outlined: boolean;
  stamps?: Stamped;
}
type Shape = string; // "disc", or a key of CORNERS

interface ColoringSpec {
  kind: string; // "label", "column", "trust", "values" or "none"
  column?: number | string | null;
  measure?: string;
  map?: string;
  values?: NumberArray;
  levels?: string[] | null;
  groups?: boolean; // whether the classes are groups of points, which are named on the map
  name?: string;
  byRank?: boolean;
  low?: number;
  high?: number;
}
interface ColoringBase {
  spec: ColoringSpec;
  name: string;
  missing: boolean;
  shadesOf: (map: MapData) => Uint8Array | null; // by slot
}
interface OneColor extends ColoringBase {
  type: "one";
  levels?: undefined;
  codes?: undefined;
}
interface ClassColoring extends ColoringBase {
  type: "classes";
  levels: string[];
  codes: NumberArray;
  counts: Uint32Array; // of the levels, and of missing values
}
interface ScaleColoring extends ColoringBase {
  type: "scale";
  format: (value: number) => string;
  ends: string[];
  middle?: number;
  better?: Better | null;
  levels?: undefined;
  codes?: undefined;
}
type Coloring = OneColor | ClassColoring | ScaleColoring;
interface RankCuts {
  cuts: Float64Array;
  middle: number;
}
interface Palette {
  colors: string[]; // of the 256 shades
  packed: Uint32Array;
  pales?: { names: string[]; packed: Uint32Array }; // by depth
  shape: (shade: number) => Shape;
}

// --- geometry

interface Plane {
  X: ArrayLike<number>; // by slot; NaN: not on the map
  Y: ArrayLike<number>;
}
interface Extent {
  left: number;
  right: number;
  low: number;
  top: number;
}
interface Angles {
  yaw: number;
  pitch: number;
}
interface Frame {
  X: Float32Array;
  Y: Float32Array;
  Z: Float32Array | null;
  wide: number;
  high: number;
  far: number[];
  whole: Extent;
  points?: Float32Array[]; // in three dimensions, before they are turned
  ofPlaced?: (coordinates: Float32Array, many: number) => ((i: number) => number)[];
}
type Snapshot = Pick<Frame, "X" | "Y" | "wide" | "high">;
interface FlatFrame extends Frame {
  ofPlaced: (coordinates: Float32Array, many: number) => ((i: number) => number)[];
}
interface SolidFrame extends FlatFrame {
  Z: Float32Array;
  points: Float32Array[];
  turned: (Angles & { many: number }) | null;
}
interface Place {
  ax: number;
  bx: number;
  ay: number;
  by: number;
}
interface Grid {
  n: number; // cells along each axis
  half: number;
  starts: Uint32Array;
  slots: Uint32Array;
}
interface Zoomed {
  zoom: number;
  x: number;
  y: number;
  whole?: boolean;
}
interface Rect {
  left: number;
  top: number;
  wide: number;
  high: number;
}
interface Scene {
  frame: Frame;
  place: Place;
  flags: Uint8Array;
  selected: number;
  shades: Uint8Array | null;
  palette: Palette;
  theme: Theme;
  scale: number;
  sight: number;
  density: boolean;
  shapes: boolean;
  radius: number;
  many: number;
  written: number;
}
type Context2D = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

interface Drag {
  pinch: boolean; // by two fingers
  tool: string;
  at: Point;
  last: Point;
  zoomed: Zoomed;
  solid: Angles | null;
  moved: boolean;
  asked: boolean; // whether a selection comes in the next frame
  before: Uint8Array | null; // flags
  hits: Uint8Array | null;
}

interface ChartAxis {
  at: (value: number) => number;
  ticks: number[];
}

// --- rows

type How = "new" | "add" | "take";
interface NeighborSets {
  kept: number[];
  missed: number[];
  false: number[];
}
interface ShownRow {
  row: number;
  neighbors?: { near?: number[]; byMap?: Record<string, NeighborSets> } | null;
}
interface Effect {
  name: string;
  kind: string;
  measure: string;
  effect: number;
  selected: number;
  rest: number;
  level?: string | null;
}

// --- a view

interface Layout {
  mode: string; // "grid", "focus" or "single"
  key: string | null;
  size: string; // "small", "medium" or "large"
}
interface Settings {
  tool: string; // "look", "box", "lasso" or "brush"
  size: number;
  density: boolean | null; // null: as suits the data
  names: boolean | null;
  linked: boolean;
  equal: boolean;
  brush: number;
  axes: { x: number; y: number; z: number };
}
interface ViewOptions {
  table: Table | TableFields;
  maps?: (MapData | MapFields)[];
  layout?: string | Partial<Layout>;
  fit?: "flow" | "fill";
  wheel?: "zoom" | "ctrl";
  theme?: "auto" | "light" | "dark";
  tool?: string;
  settings?: Partial<Settings>;
  coloring?: ColoringSpec;
  toolbar?: boolean | HTMLElement;
  legend?: boolean | HTMLElement;
  actions?: (map: MapData) => Action[];
  statusActions?: (map: MapData) => Action[];
}
interface LegendItem {
  name: string;
  bar?: { low: string; high: string };
  shade?: number | null; // null: words only
  color?: string | null;
  shape?: Shape | null;
}
interface PictureSizes {
  width: number;
  height: number;
  head: number;
  side: number;
  items: LegendItem[];
  wide: number;
  high: number;
}
interface PictureOptions {
  width?: number;
  height?: number;
  title?: boolean;
  legend?: boolean;
  scale?: number;
}
interface ViewState {
  version: number;
  layout: Layout;
  settings: Settings;
  panels: { key: string; map: string; zoomed: Zoomed; solid: Angles | null }[];
  coloring: object | null;
  hiddenClasses: number[];
  selection: string | null;
  filter: string | null;
  shown: ShownRow | null;
  rows: number;
}

// --- the explorer: records of the server's API (docs/explorer.md), and the page

type Role = "feature" | "label" | "id" | "weight" | "keep" | "drop";
interface ColumnRecord {
  name: string;
  kind: string;
  role: Role;
  missing?: number;
  distinct: number;
  min?: number | null;
  max?: number | null;
  detail?: unknown;
  unused?: string | null;
}
interface TableRecord {
  id: string;
  name: string;
  status: "reading" | "preparing" | "ready" | "failed";
  rows: number;
  columns: ColumnRecord[];
  source?: string;
  parent?: string | null;
  error?: string | null;
  progress?: { fraction?: number | null; text?: string } | null;
  duplicates?: number;
  notes: string[];
  findings?: string[]; // of the prepared rows
  suggestions: string[];
  unprepared?: string | null;
  prepared?: Record<string, string>;
  scale?: string;
  scaled?: boolean | string; // "tf-idf": weighted as counts
  impute?: string; // what replaces missing values
  imputed?: { values: number; columns: number } | null; // of the prepared rows
  read?: Record<string, any>; // options of several types
  has_images?: boolean;
  image_shape?: number[] | null;
}
interface MapRecord {
  id: string;
  table: string;
  name: string;
  method: string;
  parameters?: Record<string, unknown>;
  status: Status;
  run?: number; // how often it was computed
  version?: number; // of its latest snapshot
  stage?: string | null;
  fraction?: number | null;
  seconds_left?: number | null;
  seconds?: number | null;
  memory?: number | null;
  error?: string | null;
  warnings?: string[];
  components?: number;
  axes?: Axis[];
  scores?: Record<string, ScoreRecord | null>;
  measures?: RowMeasure[];
  measured?: boolean;
  curves?: string[];
  outdated?: boolean;
  has_transform?: boolean;
  fitted_rows?: number | null; // null: all
  replaces?: string | null; // the map whose place it has taken
  warm?: boolean; // whether it started from that map
  answers?: Record<string, AnswerRecord>; // by question
}
interface AnswerRecord {
  status: Status;
  of?: string | null; // the groups, column or rows in question
  stage?: string | null;
  fraction?: number | null;
  seconds_left?: number | null;
  error?: string | null;
}
interface ClusterRecord {
  label: string;
  verdict: "separate" | "not separate" | "undecided";
  separation: number | null;
  sentence: string;
}
interface FittedColumns {
  columns: { name: string; r2: number; p_value: number; direction: number[] | null }[];
  center: number[];
  spread: number;
}
interface AxesRecord extends FittedColumns {
  summary: string;
}
interface SurfaceRecord {
  name: string;
  r2: number;
  p_value: number;
  x: number[];
  y: number[];
  heights: (number | null)[][];
}
interface PageState {
  view?: Partial<ViewState>;
  hidden: string[] | null; // null: none was kept
  coloring: PageColoring | null;
  clusterings: { name: string; levels: string[]; codes: string }[];
  conditions: Condition[];
  point?: number;
  focus?: string;
  neighbors: number | null;
}
interface ScoreRecord {
  value: number | null;
  better?: Better | null;
  about?: string;
}
interface SelectionRecord {
  id: string;
  name: string;
  count: number;
  mask?: string;
}
interface PlacedRecord {
  id: string;
  map: string;
  name: string;
  n: number;
  status: string;
  error?: string | null;
}
interface ParameterRecord {
  name: string;
  default: unknown;
  doc: string;
  kinds: string[];
  choices: string[] | null;
  words: string; // its type
  advanced: boolean; // whether it is behind "More"
}
interface MethodRecord {
  name: string;
  title: string; // as people write it
  verb: string;
  summary: string;
  group: string;
  live?: boolean;
  usual?: boolean; // one of the maps that are offered together
  warm?: boolean; // whether it can start from an earlier map
  needs_labels?: boolean;
  parameters: ParameterRecord[];
}
interface SessionRecord {
  folder: string;
  table?: string | null;
  limits?: { seconds?: number | null; memory_bytes?: number | null; upload_bytes?: number | null }; // null: none
}
interface Condition {
  column: string | null; // null: rows that were chosen
  op?: string;
  value: string | string[]; // several: for "in"
  rows?: string; // a mask
}
interface Clustering {
  name: string;
  codes: Uint8Array | Uint16Array;
  levels: string[];
  text: string; // the codes as the server sent them
}
interface PageColoring {
  kind: string; // of a view, or "answer", "cluster" or "distance"
  column?: number;
  measure?: string;
  map?: string;
  value?: string;
  index?: number;
  row?: number;
}
interface Store {
  session: SessionRecord | null;
  methods: MethodRecord[];
  tables: Map<string, TableRecord>;
  tableId: string | null; // of the table that is shown
  maps: Map<string, MapRecord>; // of this table
  hidden: Set<string>; // ids of maps that have no panel
  focus: string | null; // id of the map whose details are shown
  point: number | null; // row that was clicked
  near?: number[]; // its neighbors in the data
  neighbors: number; // how many of them are drawn
  selection: Mask;
  selected: number;
  conditions: Condition[]; // of the filter
  shown: Uint8Array | null; // rows that pass it; null: all
  coloring: PageColoring;
  clusterings: Clustering[];
  selections: SelectionRecord[];
  readonly table: TableRecord | null;
  on(event: string, listener: (value: any) => unknown): void;
  emit(event: string, value?: unknown): void;
  set(event: string, fields: Partial<Store>): void;
  settled(): Promise<void>;
  method(name: string): MethodRecord | null;
  mapList(): MapRecord[];
  mapName(id: string): string;
}
interface PageStage {
  element: HTMLElement;
  view: View | null;
  table: Table | null;
  shape: string | null; // of the table that is in sight
  show(table: TableRecord): View;
  close(): void;
  update(map: MapRecord): void;
  remove(id: string): void;
  swap(from: string, map: MapRecord): void;
  putFirst(...keys: string[]): void;
  renew(id: string): void;
  liveAt(id: string): Promise<void>;
  loadTrust(measure: string): Promise<void>;
  mapData(id: string): MapData | null;
}
interface App {
  store: Store;
  notice: typeof import("./explorer/notices.js").notice;
  sendings: HTMLElement;
  stage: PageStage;
  state: ReturnType<typeof import("./explorer/session.js").keepState>;
  colorControl: HTMLElement;
  viewOptions: Pick<ViewOptions, "actions" | "statusActions">;
  colorBy(coloring: PageColoring): Promise<void>;
  openTab(key: string): void;
  focusMap(id: string): void;
  showPoint(row: number | null, open?: boolean): void;
  takeTable(table: TableRecord): void;
  showTable(table: TableRecord): Promise<void>;
  dropTable(id: string): void;
  keepTable(id: string): void;
  takeSelection(): void;
  takeMap(map: MapRecord): void;
  dropMap(id: string): void;
  hideMap(id: string, hide: boolean): void;
  chooseMethod(verb: string, values: Record<string, unknown>, changed?: MapRecord): void;
}

type MenuItem = [
  text: string,
  action: () => unknown,
  more?: { symbol?: string; disabled?: boolean; checked?: boolean },
];
interface ButtonOptions extends Attributes {
  symbol?: string;
  onclick?: (event: MouseEvent) => unknown;
  title?: string;
  kind?: string;
  disabled?: boolean;
}
interface PickerGroup {
  name: string;
  items: { key: string; text: string; note?: string }[];
}
interface GridOptions {
  rows: number;
  names: string[];
  numeric?: (column: number) => boolean;
  fetchBlock: (from: number, count: number, columns: number[]) => Promise<unknown[][]>;
  rowNumber?: (i: number) => number;
  onrow?: (row: number) => unknown;
  label: string;
  wide?: number; // pixels of a column
}
interface ParameterForm {
  element: HTMLElement;
  values: () => Record<string, unknown>;
  problems: () => string[];
}
interface SidePane {
  element: HTMLElement;
  handle: HTMLElement;
  choose: (key: string, focus?: boolean) => void;
  open: (key: string) => void;
  isOpen: () => boolean;
  wasClosed: () => boolean;
  toggle: () => void;
  readonly current: string | null;
  count: (key: string, text: string | number) => void;
}
type Debounced<A extends unknown[]> = ((...values: A) => void) & { cancel(): void };

// --- a report: the study as Python writes it (study/report.py)

interface Block {
  block: number; // number of the element that holds the array
  kind: "u1" | "u2" | "u4" | "f4" | "f8";
}
interface StudyColumn extends Block {
  name: string;
  classes?: string[] | null;
  levels?: number[];
  low?: number;
  high?: number;
}
interface StudyTable {
  source: string;
  rows: number;
  columns: number;
  drawn: number; // rows in the maps
  shown: Block | null; // their numbers, if not all are drawn
  fingerprint: string;
  scaled: boolean;
  preparation: { line: string; missing: string | null; columns: { name: string; text: string }[] } | null;
  kept: StudyColumn[];
  carried?: StudyColumn[];
  label: StudyColumn | null;
  ids: { name: string; texts: Texts } | null;
  thumbnails: { block: number } | null;
  near: (Block & { k: number }) | null;
}
interface StudyScore {
  value: number | null;
  better: Better;
  low: number | null;
  high: number | null;
  about: string;
  near: boolean; // not significantly different from the best
  labels_seen: boolean;
}
interface StudyCurve {
  x: Block;
  y: Block;
  x_name: string;
  y_name: string;
  kind: string; // "line" or "cloud"
}
interface StudySurface {
  name: string;
  r2: number;
  p_value: number;
  x: number[];
  y: number[];
  heights: Block; // row after row; NaN where there is none
}
interface StudyMap extends Block {
  components: number;
  low: number[];
  high: number[];
  far: ({ rows: Block; at: Block } | null)[];
}
interface Trial {
  name: string;
  method: string;
  parameters: Record<string, unknown>;
  status: string;
  error: string | null;
  warnings: string[];
  seconds: number | null;
  memory: number | null;
  cached: boolean;
  components: number | null;
  axes: Axis[];
  scores: Record<string, StudyScore>;
  curves: Record<string, StudyCurve>;
  per_row: Record<string, Block>;
  classes: Block | null; // of reliability
  drawn: (FittedColumns & { surfaces: StudySurface[] }) | null; // columns over the map
  Z: StudyMap | null;
  index: number; // set by the page
  look: number;
}
interface Advice {
  purpose: string;
  trial: string | null;
  method: string | null;
  model?: string | null;
  n_components: number | null;
  text: string;
  evidence: string[];
}
interface RowMeasure {
  name: string;
  better: Better | null;
  low: number;
  high: number;
}
interface Study {
  table: StudyTable;
  measures: RowMeasure[];
  classes: string[]; // of reliability
  meanings: Record<string, string>;
  neighbors: number;
  trials: Trial[];
  advice: Advice[];
  command: string;
  versions: Record<string, string>;
  machine: Record<string, string>;
  started: string;
  seconds: number;
  complete: boolean;
}
interface TrialLine {
  trial: Trial;
  x: NumberArray;
  y: NumberArray;
}
interface Cloud {
  canvas: HTMLCanvasElement;
  curve: StudyCurve;
  note: HTMLElement;
  drawn: boolean;
}
type Comparable = number | string | null;
interface TrialOrder {
  value: (trial: Trial) => Comparable;
  seen?: (trial: Trial) => boolean;
}
interface ScoreColumn {
  name: string;
  better: Better | null;
  about?: string;
  value: (trial: Trial) => number | null;
  seen?: (trial: Trial) => boolean;
  cell: (trial: Trial) => Child[];
  best?: number | null;
}

// --- a notebook: the widget's model, as anywidget passes it

interface Trait {
  data: DataView; // of an array
  type: "f4" | "f8" | "u1" | "u2" | "u4";
}
interface WidgetModel {
  get(name: string): any; // traits of several types
  set(name: string, value: unknown): void;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
  save_changes(): void;
}
