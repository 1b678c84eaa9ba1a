// The modules of every page; each finds its place by `data-` attributes.
import "./confirm.js";
import "./copy.js";
import "./live.js";
import "./load.js";
import "./menu.js";
import "./selection.js";
import "./sheet.js";
import "./suggest.js";
import "./swap.js";
