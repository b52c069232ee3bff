#pragma once

namespace bf_aot::artifacts {

// The style sheet of the page. Colours are variables, so that one sheet serves light and dark.
inline constexpr char kStyle[] = R"(
:root{color-scheme:light dark;--bg:#fbfbfa;--card:#fff;--ink:#1d2126;--soft:#5c6670;--line:#e3e6e8;
--accent:#0b62a8;--active:#4c9bd6;--idle:#c9d1d8;--unstable:#e08a2c;--tag:#eef2f5;
--c0:#0b62a8;--c1:#c2571a;--c2:#0a8a63;--c3:#a8518a;--c4:#a07a00;--c5:#5b5fb0;
--value:#7fb3de;--bound:#5fb79a;--relax:#d9a441;--rows:#c98bb4;--other:#aeb6bd}
@media(prefers-color-scheme:dark){:root{--bg:#14171a;--card:#1b1f24;--ink:#e5e8eb;--soft:#9aa5af;
--line:#2d343b;--accent:#6db3ee;--active:#3f83ba;--idle:#48525c;--unstable:#d98a35;--tag:#262d34;
--c0:#6db3ee;--c1:#e58a52;--c2:#4cc79c;--c3:#d58bbb;--c4:#d3ad3a;--c5:#9a9ee6;
--value:#3f7fb4;--bound:#2f8a6e;--relax:#a87a24;--rows:#94597f;--other:#56606a}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:14px/1.5 system-ui,-apple-system,"Segoe UI",
Roboto,"DejaVu Sans",sans-serif;-webkit-text-size-adjust:100%}
main,header>div{max-width:1240px;margin:0 auto;padding:0 24px}
header{background:var(--card);border-bottom:1px solid var(--line);padding:28px 0 20px}
h1{font-size:26px;line-height:1.25;margin:0;font-weight:650;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:18px;margin:0 0 4px;font-weight:650}
h3{font-size:14px;margin:22px 0 8px;font-weight:600}
.sub{color:var(--soft);margin:4px 0 0;overflow-wrap:anywhere}
.mono{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:12px}
nav{position:sticky;top:0;background:var(--bg);border-bottom:1px solid var(--line);z-index:3}
nav>div{max-width:1240px;margin:0 auto;padding:8px 24px;display:flex;gap:20px;overflow-x:auto;white-space:nowrap}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
section{margin:32px 0;scroll-margin-top:48px}
.lead{color:var(--soft);margin:0 0 14px;max-width:82ch}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(168px,1fr));gap:12px;margin:24px 0 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px;min-width:0}
.card b{display:block;font-size:20px;font-weight:650;font-variant-numeric:tabular-nums}
.card span{display:block;color:var(--soft);font-size:12px;overflow-wrap:anywhere}
.options{display:flex;flex-wrap:wrap;gap:6px;margin:14px 0 0;padding:0}
.options li{list-style:none;background:var(--tag);border-radius:5px;padding:1px 8px;font-size:12px;overflow-wrap:anywhere;min-width:0}
.options b{font-weight:600;color:var(--soft)}
.scroll{overflow:auto;max-height:min(76vh,900px);background:var(--card);border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th{position:sticky;top:0;background:var(--card);text-align:left;font-weight:600;font-size:12px;color:var(--soft);
padding:8px 10px;white-space:nowrap;box-shadow:0 1px 0 var(--line);z-index:1}
td{padding:0 10px;height:30px;white-space:nowrap}
tbody tr:hover{background:var(--tag)}
.r{text-align:right}
td.g{padding:0 4px 0 8px;width:1px}
th.why{min-width:150px}
td.clip{max-width:0;overflow:hidden;text-overflow:ellipsis}
td.wrap{white-space:normal;height:auto;padding:5px 10px;min-width:220px}
td.soft,.soft{color:var(--soft)}
.rail{display:block}
.e{fill:none;stroke-width:1.7;stroke:var(--c0)}
.e1{stroke:var(--c1)}.e2{stroke:var(--c2)}.e3{stroke:var(--c3)}.e4{stroke:var(--c4)}.e5{stroke:var(--c5)}
.node{fill:var(--card);stroke:var(--ink);stroke-width:1.6}
.node.interval{fill:var(--idle)}.node.backward{fill:var(--unstable)}.node.optimised{fill:var(--c3)}.node.end{fill:var(--ink)}
.box{display:inline-block;border:1px solid var(--line);border-left:3px solid var(--c0);border-radius:5px;padding:0 8px;
line-height:22px;background:var(--bg);max-width:100%;overflow:hidden;text-overflow:ellipsis;vertical-align:middle}
.box.sum{border-left-color:var(--c2)}.box.product{border-left-color:var(--c3)}.box.max{border-left-color:var(--c4)}.box.end{border-left-color:var(--ink)}
.tag{background:var(--tag);border-radius:4px;padding:1px 7px;font-size:12px}
.tag.backward{box-shadow:inset 0 0 0 1px var(--unstable)}
.tag.optimised{box-shadow:inset 0 0 0 1px var(--c3)}
.meter,.stack{display:inline-flex;width:96px;height:10px;border-radius:3px;overflow:hidden;background:var(--tag);vertical-align:middle}
.meter i,.stack i{display:block;height:100%}
.w{background:var(--active)}.t{background:var(--c0)}.m{background:var(--c2)}
.stack .active{background:var(--active)}.stack .inactive{background:var(--idle)}.stack .unstable{background:var(--unstable)}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;color:var(--soft);font-size:12px;margin:8px 0 12px;padding:0}
.legend li{list-style:none}
.legend i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px;vertical-align:-1px}
.map{display:block}
.map text{font:11px ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--soft)}
.map .in{font-size:10px;fill:#101316}
@media(prefers-color-scheme:dark){.map .in{fill:#f1f4f6}}
.map .b{stroke:var(--card);stroke-width:.8}
.map .b:hover{stroke:var(--ink);stroke-width:1.5}
.value{fill:var(--value);background:var(--value)}.bound{fill:var(--bound);background:var(--bound)}
.relax{fill:var(--relax);background:var(--relax)}.rows{fill:var(--rows);background:var(--rows)}.other{fill:var(--other);background:var(--other)}
.band{fill:var(--tag);opacity:.55}
.axis{stroke:var(--line)}.planned{stroke:var(--ink);stroke-width:1.4}.naive{stroke:var(--c1);stroke-width:1.4}
.least{stroke:var(--c2);stroke-width:1.4;stroke-dasharray:5 4}
.live{fill:none;stroke:var(--ink);stroke-width:1.2;opacity:.75}
.break{stroke:var(--soft);stroke-dasharray:2 5;fill:none}
details{background:var(--card);border:1px solid var(--line);border-radius:8px;margin:10px 0}
details>.scroll{border:0;border-top:1px solid var(--line);border-radius:0 0 8px 8px}
summary{padding:10px 14px;cursor:pointer;font-weight:600}
summary span{font-weight:400;color:var(--soft)}
footer{color:var(--soft);border-top:1px solid var(--line);margin-top:40px;padding:16px 0 40px;font-size:12px}
@media print{nav{display:none}.scroll{max-height:none;overflow:visible}}
)";

}  // namespace bf_aot::artifacts
