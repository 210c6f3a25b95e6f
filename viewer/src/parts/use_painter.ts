import { onBeforeUnmount, onMounted } from "vue";
import { useLive } from "../store/live";

/** Calls the painter when one of the topics is invalidated, as long as the component is mounted. Returns a function that paints again. */
export function usePainter(topics: string[], paint: () => void): () => void {
  const { loop } = useLive();
  let painter: ReturnType<typeof loop.add> | undefined;
  onMounted(() => (painter = loop.add([...topics, "choice", "theme"], paint)));
  onBeforeUnmount(() => painter?.stop());
  return () => painter?.now();
}
