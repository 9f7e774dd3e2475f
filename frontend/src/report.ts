import { makeExplorable } from "./explorable";

makeExplorable(document);
