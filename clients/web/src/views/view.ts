// What a view is. Views are listed in index.ts, one file each; nothing else names them.
import type { VNode } from "preact";
import type { Right } from "../api/rights";

export interface ViewProps {
  /** The values of the pattern's parameters: {id: "7"} for "/jobs/:id". */
  params: Record<string, string>;
}

export interface View {
  /** The pattern of its address below /ui. */
  path: string;
  title: (params: Record<string, string>) => string;
  /** Its name in the menu; absent: it is not in the menu. */
  menu?: string;
  /** The key after "g" that goes there. */
  key?: string;
  /** Without this right it is not in the menu; its calls are refused in any case. */
  needs?: Right;
  show: (props: ViewProps) => VNode;
}
