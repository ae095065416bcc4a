// A page with embedded data.

import { Page, openPage } from "./main.js";

openPage(Page);
