// Pages that are opened as files may start no workers; the search then runs in a frame of the page.
// (The theme asks for a class of this name, and for an element with the worker's place.)
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      const start = () => {
        document.body.appendChild(frame);
        const inside = frame.contentWindow;
        inside.document.open();
        inside.document.write("<!DOCTYPE html><html><body></body></html>");
        inside.document.close();
        inside.postMessage = (data) =>
          this.dispatchEvent(new MessageEvent("message", { data }));
        inside.importScripts = (...urls) =>
          urls.reduce((before, next) => before.then(() => this.load(next)), Promise.resolve());
        this.inside = inside;
        this.load(url).then(() => {
          this.ready = true;
          this.waiting.splice(0).forEach((data) => this.postMessage(data));
        });
      };
      document.body ? start() : addEventListener("DOMContentLoaded", start);
    }

    load(url) {
      return new Promise((done, failed) => {
        const script = this.inside.document.createElement("script");
        script.src = String(url);
        script.onload = done;
        script.onerror = failed;
        this.inside.document.body.appendChild(script);
      });
    }

    postMessage(data) {
      if (this.ready) {
        const message = new this.inside.MessageEvent("message", { data });
        setTimeout(() => this.inside.dispatchEvent(message));
      } else {
        this.waiting.push(data);
      }
    }

    terminate() {
      this.inside.frameElement.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
