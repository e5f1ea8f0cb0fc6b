// What every view draws with: preact and htm, from files beside this one. Text is always text: nothing here parses HTML.
import {h, render, Fragment} from '../vendor/preact-11.2.0.mjs'
import htm from '../vendor/htm-3.1.1.mjs'
export {useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback} from '../vendor/hooks-11.2.0.mjs'
export {h, render, Fragment}
export const html = htm.bind(h)
