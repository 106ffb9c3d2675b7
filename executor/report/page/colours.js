// Colours that people with any kind of colour vision tell apart (Okabe and Ito's eight), each with a name; what devices
// of a cut exchange is a lighter shade of what replicas do.

const kColours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"];

/// What a processor does, in the order of the report.
export const kBusy = [
  ["compute", "compute", "#0072b2"],
  ["exchange", "exchange between processors", "#e69f00"],
  ["collective", "collectives between replicas", "#cc79a7"],
  ["groupCollective", "collectives between devices of a cut", "#e6b8d2"],
  ["tileCopy", "copies between tiles", "#999999"],
  ["hostLoad", "loads from the host", "#56b4e9"],
  ["hostStore", "stores to the host", "#009e73"],
  ["remoteLoad", "loads from streaming memory", "#d55e00"],
  ["remoteStore", "stores to streaming memory", "#f0e442"],
];

/// Why it stands still.
export const kIdle = [
  ["data", "waiting for data", "#b8b8b8"],
  ["sync", "waiting for a sync", "#d2d2d2"],
  ["link", "waiting for a link", "#9c9c9c"],
  ["io", "waiting for input or output", "#808080"],
];

/// What memory is held for.
export const kHoldings = [
  ["weights", "weights", "#0072b2"],
  ["activations", "activations", "#e69f00"],
  ["stashes", "stashes", "#009e73"],
  ["streams", "streams", "#56b4e9"],
  ["optimizerState", "optimizer state", "#cc79a7"],
  ["accumulators", "accumulators", "#d55e00"],
  ["copies", "copies on chip (estimate)", "#f0e442"],
  ["code", "code (estimate)", "#999999"],
  ["exchangeCode", "exchange code (estimate)", "#666666"],
];

/// One of eight, in turn.
export function colourOf(number) {
  return kColours[((number % kColours.length) + kColours.length) % kColours.length];
}
