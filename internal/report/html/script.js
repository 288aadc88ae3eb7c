"use strict";
(function () {
  var svg = document.getElementById("picture");
  var table = document.getElementById("events");
  function reveal() {
    var target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (var n = target; n; n = n.parentElement) { if (n.tagName === "DETAILS") { n.open = true; } }
    if (target) { target.scrollIntoView({ block: "center" }); }
  }
  window.addEventListener("hashchange", reveal);
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (d) { if (d !== table) { d.open = true; } });
  });
  reveal();
  if (!svg) { return; }
  document.querySelector(".tools").hidden = false;
  var span = Number(svg.dataset.span) || 1, from = 0, to = span;
  var parts = Array.prototype.map.call(svg.querySelectorAll(".t"), function (n) {
    return { n: n, f: Number(n.dataset.f), t: n.dataset.t === undefined ? null : Number(n.dataset.t) };
  });
  function place(at) { return ((at - from) / (to - from) * 100).toFixed(3) + "%"; }
  function draw() {
    parts.forEach(function (p) {
      var n = p.n;
      if (n.tagName === "rect") {
        var a = Math.max(p.f, from), b = Math.min(p.t, to);
        n.setAttribute("x", place(a));
        n.setAttribute("width", b > a ? ((b - a) / (to - from) * 100).toFixed(3) + "%" : "0");
      } else if (n.tagName === "circle") { n.setAttribute("cx", place(p.f)); }
      else if (n.tagName === "text") { n.setAttribute("x", place(p.f)); }
      else { n.setAttribute("x1", place(p.f)); n.setAttribute("x2", place(p.t === null ? p.f : p.t)); }
    });
  }
  function zoom(factor, at) {
    var width = Math.min(span, Math.max(20, (to - from) * factor));
    var share = (at - from) / (to - from);
    from = Math.min(span - width, Math.max(0, at - width * share));
    to = from + width;
    draw();
  }
  function move(share) {
    var width = to - from;
    from = Math.min(span - width, Math.max(0, from + width * share));
    to = from + width;
    draw();
  }
  function on(id, act) { document.getElementById(id).addEventListener("click", act); }
  on("in", function () { zoom(0.5, (from + to) / 2); });
  on("out", function () { zoom(2, (from + to) / 2); });
  on("left", function () { move(-0.5); });
  on("right", function () { move(0.5); });
  on("whole", function () { from = 0; to = span; draw(); });
  svg.addEventListener("wheel", function (e) {
    if (!e.ctrlKey && !e.metaKey) { return; }
    e.preventDefault();
    var box = svg.getBoundingClientRect();
    zoom(e.deltaY < 0 ? 0.8 : 1.25, from + (e.clientX - box.left) / box.width * (to - from));
  }, { passive: false });
})();
