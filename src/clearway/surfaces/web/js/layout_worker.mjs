// Lays the graph out beside the page, which stays free meanwhile.
import * as dagre from '../vendor/dagre-3.1.3.mjs'
import {placed} from './layout.mjs'

onmessage = ({data: {turn, what}}) => postMessage({turn, layout: placed(what, dagre)})
