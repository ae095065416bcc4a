// A page that holds its data.

import { Page, openPage } from "./main.js";

openPage(Page);
