"""One HTML page per campaign: tables that filter and sort, and the pictures; nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from inertica.campaign import figures
from inertica.campaign.plan import plan
from inertica.campaign.rows import content_hash
from inertica.campaign.store import Store
from inertica.campaign.summary import Group, Line, conditions, groups, lines, parameter_names
from inertica.campaign.written import as_html
from inertica.writing import write_whole

STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse; margin: 0.5em 0 1.5em } th, td { padding: 0.15em 0.6em; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left } thead th { cursor: pointer; border-bottom: 1px solid #888 }
th[aria-sort=ascending]::after { content: " \\25B4" } th[aria-sort=descending]::after { content: " \\25BE" }
tbody tr:nth-child(even) { background: #f4f4f4 } figure { margin: 0 0 1.5em }
input { font: inherit; padding: 0.2em 0.5em; width: 20em }
"""

SCRIPT = """
const tables = document.querySelectorAll('table.sortable');
document.querySelector('#filter').addEventListener('input', e => {
  const words = e.target.value.toLowerCase().split(/\\s+/).filter(w => w);
  tables.forEach(t => t.querySelectorAll('tbody tr').forEach(r => {
    const text = r.cells[0].textContent.toLowerCase();
    r.hidden = words.length > 0 && !words.some(w => text.includes(w));
  }));
});
tables.forEach(t => t.querySelectorAll('th').forEach((head, k) => {
  const sort = () => {
    const body = t.tBodies[0], up = head.getAttribute('aria-sort') !== 'ascending', said = r => r.cells[k].textContent;
    t.querySelectorAll('th').forEach(h => h.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const words = k === 0 || [...body.rows].every(r => isNaN(parseFloat(said(r))));
    const value = r => { const x = parseFloat(said(r)); return isNaN(x) ? (said(r) === 'unstable' ? 1e300 : 2e300) : x; };
    const rows = [...body.rows].sort((a, b) => words ? said(a).localeCompare(said(b)) : value(a) - value(b));
    (up ? rows : rows.reverse()).forEach(r => body.append(r));
  };
  head.tabIndex = 0;
  head.addEventListener('click', sort);
  head.addEventListener('keydown', e => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); sort(); } });
}));
"""


def write_page(store: Store, path: Path, average: str = "all") -> Path:
    """The page of a campaign, finished or not."""
    all_groups = groups(store)
    made = lines(store, average, all_groups)
    files, total = store.files(), len(plan(store.spec))
    about = [
        escape(store.spec.about),
        f"{len(files)} of {total} units, {sum(g.runs for g in all_groups)} rows; averages over {escape(average)} rows",
        f"content {content_hash(files)}, spec {store.spec.digest}",
        "d_q, d_tau: relative errors of position and torque on the validation trajectory, survey eqs. 69 and 70; d_par: "
        "|beta - true| / |true|; rank by d_par; <i>real</i>: whether links could exist",
    ]
    parts = [f"<p>{x}</p>" for x in about if x]
    parts += [
        "<p><input id=filter aria-label='methods to show' placeholder='methods to show, such as: ols didim'></p>",
        as_html(made),
        *_pictures(store, all_groups, made),
    ]
    document = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(store.spec.name)}</title><style>{STYLE}</style>"
        f"<h1>{escape(store.spec.name)}</h1>{''.join(parts)}<script>{SCRIPT}</script></html>\n"
    )
    write_whole(path, document)
    return path


def _pictures(store: Store, all_groups: Sequence[Group], made: Sequence[Line]) -> Iterator[str]:
    ranked = {line.place: line.rank for line in made}
    for title, members in conditions(made):
        places = [line.place for line in members]
        shown = [g for g in all_groups if g.place in places and len(g.beta)]
        if not shown:
            continue
        yield f"<h2>{escape(title)}: pictures</h2>"
        names = parameter_names(store, shown[0].place.robot)
        best = sorted(shown, key=lambda g: ranked[g.place])
        yield _figure("error of every parameter", figures.error_matrix(shown, names))
        yield _figure("error against time", figures.error_against_time(members))
        yield _figure("bias and standard deviation of the best methods", figures.bias_and_spread(best[: figures.MOST], names))
        yield _figure(
            f"torque on the validation trajectory, mean of {best[0].place.label}", figures.torque_overlay(store, best[0])
        )
        for group in shown:
            if group.starts.max() > 0:
                yield _figure(f"convergence of {group.place.label}", figures.convergence_map(group))
    yield from _sweeps(made)


def _sweeps(made: Sequence[Line]) -> Iterator[str]:
    """One picture per robot and decimation where the noise varies."""
    kinds = dict.fromkeys((x.place.robot, x.place.loop, x.place.distribution, x.place.quantise, x.place.decimate) for x in made)
    for robot, loop, distribution, quantise, ratio in kinds:
        selected = [
            x for x in made
            if (x.place.robot, x.place.loop, x.place.distribution, x.place.quantise, x.place.decimate)
            == (robot, loop, distribution, quantise, ratio)
        ]  # fmt: skip
        if len({x.place.noise for x in selected}) > 1:
            yield _figure(f"{robot}, decimation {ratio}: error over noise", figures.noise_sweep(selected))


def _figure(title: str, svg: str) -> str:
    return f"<figure><figcaption><b>{escape(title)}</b></figcaption>{svg}</figure>"
