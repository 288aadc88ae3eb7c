"use strict";
(function () {
  var table = document.getElementById("events");
  function all(selector, from) { return Array.prototype.slice.call((from || document).querySelectorAll(selector)); }
  function reveal() {
    var target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (var n = target; n; n = n.parentElement) { if (n.tagName === "DETAILS") { n.open = true; } }
    if (target) { target.scrollIntoView({ block: "center" }); }
  }
  window.addEventListener("hashchange", reveal);
  reveal();
  copyButtons();
  var areas = all("svg.area");
  if (areas.length === 0) { return; }
  document.querySelector(".tools").hidden = false;
  highlightSteps();
  showDetails();
  searchMarks();
  zoomAreas();

  // A button behind each command. Where the browser lets nothing into the clipboard, the command is
  // selected.
  function copyButtons() {
    all("pre.command, code.command").forEach(function (command) {
      var button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "copy";
      button.addEventListener("click", function () {
        function say(word) { button.textContent = word; }
        function select() {
          getSelection().selectAllChildren(command);
          say(document.execCommand("copy") ? "copied" : "selected");
        }
        if (!navigator.clipboard) { select(); return; }
        navigator.clipboard.writeText(command.textContent.replace(/\n$/, "")).then(function () { say("copied"); }, select);
      });
      command.insertAdjacentElement("afterend", button);
    });
  }

  // A step is lit in the picture, in the list beside it and in its finding.
  function highlightSteps() {
    function light(step, on) {
      all("[data-step='" + step + "']").forEach(function (n) { n.classList.toggle("lit", on); });
    }
    all("[data-step]").forEach(function (n) {
      ["pointerenter", "focusin"].forEach(function (kind) { n.addEventListener(kind, function () { light(n.dataset.step, true); }); });
      ["pointerleave", "focusout"].forEach(function (kind) { n.addEventListener(kind, function () { light(n.dataset.step, false); }); });
    });
  }

  // Time, duration, ids and the quoted line of a mark, from the place that its link leads to.
  function showDetails() {
    var tip = document.createElement("div"), shown = null;
    tip.id = "tip";
    tip.hidden = true;
    document.body.appendChild(tip);
    function line(name, text) {
      if (!text) { return; }
      var p = document.createElement("p");
      p.className = name;
      p.textContent = text;
      tip.appendChild(p);
    }
    function textOf(from, selector) { var n = from.querySelector(selector); return n ? n.textContent.trim() : ""; }
    function fill(link) {
      var target = document.getElementById(link.getAttribute("href").slice(1));
      tip.textContent = "";
      if (!target) { return false; }
      line("what", textOf(target, ".what"));
      line("when", [textOf(target, ".at"), textOf(target, ".lasted")].filter(Boolean).join("  "));
      line("ids", textOf(target, ".ids"));
      line("pos", textOf(target, ".pos"));
      line("line", textOf(target, "q"));
      return true;
    }
    function show(link, touched) {
      if (!fill(link)) { return; }
      if (touched) {
        var more = document.createElement("a");
        more.href = link.getAttribute("href");
        more.textContent = "to the evidence";
        more.addEventListener("click", hide);
        tip.appendChild(more);
      }
      shown = link;
      tip.hidden = false;
      var mark = (link.querySelector("circle, rect, line") || link).getBoundingClientRect(), box = tip.getBoundingClientRect();
      var room = document.documentElement.clientWidth - box.width - 8;
      tip.style.left = Math.max(8, Math.min(mark.left, room)) + window.scrollX + "px";
      var above = mark.top - box.height - 6, below = link.getBoundingClientRect().bottom + 6;
      tip.style.top = (below + box.height > window.innerHeight && above > 0 ? above : below) + window.scrollY + "px";
    }
    function hide() { tip.hidden = true; shown = null; }
    all("svg.area a").forEach(function (link) {
      link.addEventListener("pointerenter", function (e) { if (e.pointerType === "mouse") { show(link, false); } });
      link.addEventListener("pointerleave", function (e) { if (e.pointerType === "mouse") { hide(); } });
      link.addEventListener("focus", function () { if (link.matches(":focus-visible")) { show(link, false); } });
      link.addEventListener("blur", function () { if (!tip.querySelector("a")) { hide(); } });
      link.addEventListener("click", function (e) {
        if (e.pointerType !== "touch" || shown === link) { hide(); return; }
        e.preventDefault(); // the first tap shows, the second one follows
        show(link, true);
      });
    });
    document.addEventListener("click", function (e) { if (!e.target.closest("svg.area a, #tip")) { hide(); } });
    document.addEventListener("keydown", function (e) { if (e.key === "Escape") { hide(); } });
  }

  // What does not hold the words is dimmed in the picture and left out of the table.
  function searchMarks() {
    var input = document.getElementById("search"), found = document.getElementById("found"), first = null;
    function textOf(link) {
      var target = document.getElementById(link.getAttribute("href").slice(1));
      return (link.textContent + " " + (target ? target.textContent : "")).toLowerCase();
    }
    function search() {
      var words = input.value.toLowerCase().split(/\s+/).filter(Boolean), hits = {};
      first = null;
      function holds(text) { return words.every(function (w) { return text.indexOf(w) >= 0; }); }
      all("svg.area a").forEach(function (link) {
        var hit = holds(textOf(link)), href = link.getAttribute("href");
        link.classList.toggle("dim", !hit);
        if (hit && words.length > 0) {
          hits[href] = true;
          first = first || link;
        }
      });
      all("ol.chain > li").forEach(function (n) { n.classList.toggle("dim", !hits["#" + n.firstElementChild.getAttribute("href").slice(1)] && words.length > 0); });
      if (table) { all("tbody tr", table).forEach(function (row) { row.hidden = !holds(row.textContent.toLowerCase()); }); }
      var beside = document.querySelector("details.beside");
      if (words.length > 0 && beside && beside.querySelector("svg.area a:not(.dim)")) { beside.open = true; }
      found.textContent = words.length > 0 ? Object.keys(hits).length + " found" : "";
    }
    input.addEventListener("input", search);
    input.addEventListener("keydown", function (e) {
      if (e.key === "Enter" && first) { location.hash = first.getAttribute("href"); }
    });
  }

  function zoomAreas() {
    var span = Number(areas[0].dataset.span), from = 0, to = span;
    var parts = [], labels = [];
    areas.forEach(function (area) {
      all(".t", area).forEach(function (n) {
        parts.push({ n: n, f: Number(n.dataset.f), t: n.dataset.t === undefined ? null : Number(n.dataset.t) });
      });
      all(".label", area).forEach(function (n) {
        var name = n.querySelector("tspan");
        labels.push({
          n: n, name: name, whole: name.dataset.whole || name.textContent, area: area,
          f: Number(n.dataset.f), t: Number(n.dataset.t), space: Math.abs(Number(n.getAttribute("dx")))
        });
      });
    });
    function share(at) { return (at - from) / (to - from); }
    function place(at) { return (share(at) * 100).toFixed(3) + "%"; }
    function drawPart(p) {
      var n = p.n;
      if (n.tagName === "rect") {
        var a = Math.max(p.f, from), b = Math.min(p.t, to);
        n.setAttribute("x", place(a));
        n.setAttribute("width", b > a ? ((b - a) / (to - from) * 100).toFixed(3) + "%" : "0");
      } else if (n.tagName === "circle") { n.setAttribute("cx", place(p.f)); }
      else if (n.tagName === "text") { n.setAttribute("x", place(p.f)); }
      else { n.setAttribute("x1", place(p.f)); n.setAttribute("x2", place(p.t === null ? p.f : p.t)); }
    }
    // A name stays with what can be seen of its bar, on the side that has room for it, as far as
    // there is room.
    function drawLabel(l) {
      var seen = l.t >= from && l.f <= to, at = Math.min(Math.max(l.f, from), to), width = l.area.clientWidth;
      l.n.classList.toggle("away", !seen);
      if (!seen || width === 0) { return; }
      var right = (1 - share(at)) * width - l.space, left = share(at) * width - l.space;
      l.name.textContent = l.whole;
      var toLeft = l.n.getComputedTextLength() > right && left > right, room = toLeft ? left : right;
      for (var text = l.whole; text.length > 4 && l.n.getComputedTextLength() > room; ) {
        text = text.slice(0, -1 - Math.floor((l.n.getComputedTextLength() - room) / 20));
        l.name.textContent = text + "…";
      }
      l.n.setAttribute("x", place(at));
      l.n.setAttribute("dx", toLeft ? -l.space : l.space);
      l.n.setAttribute("text-anchor", toLeft ? "end" : "start");
    }
    function draw() { parts.forEach(drawPart); labels.forEach(drawLabel); }
    function zoom(factor, at) {
      var width = Math.min(span, Math.max(20, (to - from) * factor)), before = share(at);
      from = Math.min(span - width, Math.max(0, at - width * before));
      to = from + width;
      draw();
    }
    function move(by) {
      var width = to - from;
      from = Math.min(span - width, Math.max(0, from + width * by));
      to = from + width;
      draw();
    }
    function fit() { labels.forEach(drawLabel); }
    window.addEventListener("resize", fit);
    all("details.beside").forEach(function (d) { d.addEventListener("toggle", fit); });
    fit();
    if (!document.getElementById("in")) { return; }
    function on(id, act) { document.getElementById(id).addEventListener("click", act); }
    on("in", function () { zoom(0.5, (from + to) / 2); });
    on("out", function () { zoom(2, (from + to) / 2); });
    on("left", function () { move(-0.5); });
    on("right", function () { move(0.5); });
    on("whole", function () { from = 0; to = span; draw(); });
    areas.forEach(function (area) {
      area.addEventListener("wheel", function (e) {
        if (!e.ctrlKey && !e.metaKey) { return; }
        e.preventDefault();
        var box = area.getBoundingClientRect();
        zoom(e.deltaY < 0 ? 0.8 : 1.25, from + (e.clientX - box.left) / box.width * (to - from));
      }, { passive: false });
    });
  }
})();
