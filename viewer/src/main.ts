import "uplot/dist/uPlot.min.css";
import "./style.css";
import { createApp } from "vue";
import App from "./app.vue";
import { LIVE, Live } from "./store/live";

const live = new Live(window.location);
live.start();
createApp(App).provide(LIVE, live).mount("#app");
