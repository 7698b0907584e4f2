// A table of any number of rows: only those in sight are in the document, and rows that are not
// read yet are asked for as they come into sight. Arrow keys move, Enter opens, Space selects.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef } from "preact/hooks";

export interface Column<R> {
  id: string;
  title: string;
  /** Of the column, in characters. */
  width: number;
  cell: (row: R) => ComponentChildren;
  /** Whether the rows can be sorted by it. */
  sorts?: boolean;
  right?: boolean;
}

interface TableProps<R> {
  label: string;
  columns: readonly Column<R>[];
  count: number;
  /** undefined: not read yet. */
  row: (index: number) => R | undefined;
  keyOf: (row: R) => string;
  /** Told of the rows in sight, so that they can be read. */
  inSight?: (first: number, last: number) => void;
  /** The column that the rows are sorted by; "-" before its id: descending. */
  sort?: string;
  setSort?: (sort: string) => void;
  selected?: ReadonlySet<string>;
  select?: (key: string, on: boolean) => void;
  selectAll?: (on: boolean) => void;
  open?: (row: R) => void;
}

const rowHeight = 32;

export function Table<R>(props: TableProps<R>) {
  const box = useRef<HTMLDivElement>(null);
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const current = useRef(0);
  const makeOptions = (count: number) => ({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    paddingStart: rowHeight,
    scrollPaddingStart: rowHeight,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => draw(undefined),
  });
  const virtual = useMemo(() => new Virtualizer<HTMLDivElement, Element>(makeOptions(props.count)), []);
  virtual.setOptions({ ...virtual.options, ...makeOptions(props.count) });
  useEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  useLayoutEffect(() => virtual.measure(), [props.count]);
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => props.inSight?.(first, last), [first, last, props.count, props.row]);

  const picks = props.select !== undefined;
  const widths = [...(picks ? ["2.25rem"] : []), ...props.columns.map((one) => `minmax(${one.width * 0.62}rem, ${one.width}fr)`)].join(" ");
  const least = props.columns.reduce((sum, one) => sum + one.width * 0.62, picks ? 2.25 : 0) + props.columns.length * 0.75;
  const all = picks && props.count > 0 && (props.selected?.size ?? 0) >= props.count;

  const moveTo = (index: number) => {
    current.current = Math.max(0, Math.min(props.count - 1, index));
    virtual.scrollToIndex(current.current, { align: "auto" });
    draw(undefined);
  };
  const press = (event: KeyboardEvent) => {
    if (event.target !== box.current) return;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / rowHeight) - 2);
    const steps: Record<string, number> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -props.count, End: props.count };
    const row = props.row(current.current);
    if (steps[event.key] !== undefined) moveTo(current.current + steps[event.key]!);
    else if (event.key === "Enter" && row !== undefined) props.open?.(row);
    else if (event.key === " " && row !== undefined && picks) {
      const key = props.keyOf(row);
      props.select?.(key, !props.selected?.has(key));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const sortBy = (id: string) => props.setSort?.(props.sort === id ? `-${id}` : id);
  const order = (id: string) => (props.sort === id ? "ascending" : props.sort === `-${id}` ? "descending" : "none");

  return (
    <div
      ref={box}
      class="table"
      role="grid"
      aria-label={props.label}
      aria-rowcount={props.count + 1}
      aria-colcount={props.columns.length + (picks ? 1 : 0)}
      tabIndex={0}
      aria-activedescendant={props.count > 0 ? `row-${current.current}` : undefined}
      onKeyDown={press}
      style={{ maxHeight: `${virtual.getTotalSize() + 16}px` }}
    >
      <div role="presentation" class="table-all" style={{ height: `${virtual.getTotalSize()}px`, minWidth: `${least}rem` }}>
        <div role="row" aria-rowindex={1} class="table-row table-head" style={{ gridTemplateColumns: widths }}>
          {picks && (
            <div role="columnheader">
              <input type="checkbox" aria-label="Select all" checked={all} onChange={(event) => props.selectAll?.(event.currentTarget.checked)} />
            </div>
          )}
          {props.columns.map((column) => (
            <div
              key={column.id}
              role="columnheader"
              class={column.right ? "right" : ""}
              {...(column.sorts ? { "aria-sort": order(column.id) as "none" } : {})}
            >
              {column.sorts && props.setSort ? (
                <button type="button" onClick={() => sortBy(column.id)}>
                  {column.title}
                  <span aria-hidden="true">{order(column.id) === "ascending" ? " ▲" : order(column.id) === "descending" ? " ▼" : ""}</span>
                </button>
              ) : (
                column.title
              )}
            </div>
          ))}
        </div>
        {items.map((item) => {
          const row = props.row(item.index);
          const key = row === undefined ? "" : props.keyOf(row);
          return (
            <div
              key={item.index}
              id={`row-${item.index}`}
              role="row"
              aria-rowindex={item.index + 2}
              aria-selected={picks ? (props.selected?.has(key) ?? false) : undefined}
              class={`table-row ${item.index === current.current ? "current" : ""} ${item.index % 2 === 1 ? "odd" : ""}`}
              style={{ gridTemplateColumns: widths, transform: `translateY(${item.start}px)` }}
              onClick={(event) => {
                // A box that is clicked draws the row itself, once it is told of the change.
                if ((event.target as HTMLElement).closest("input, a, button")) return;
                current.current = item.index;
                draw(undefined);
              }}
              onDblClick={() => row !== undefined && props.open?.(row)}
            >
              {picks && (
                <div role="gridcell">
                  {row !== undefined && (
                    <input
                      type="checkbox"
                      tabIndex={-1}
                      aria-label={`Select ${key}`}
                      checked={props.selected?.has(key) ?? false}
                      onChange={(event) => props.select?.(key, event.currentTarget.checked)}
                    />
                  )}
                </div>
              )}
              {props.columns.map((column) => (
                <div key={column.id} role="gridcell" class={column.right ? "right" : ""}>
                  {row === undefined ? <span class="faint">…</span> : column.cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}
