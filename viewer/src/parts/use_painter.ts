import { onBeforeUnmount, onMounted } from "vue";
import { useLive } from "../store/live";

/** Paints when one of the topics has news, as long as the component is there. Returns: paint again. */
export function usePainter(topics: string[], paint: () => void): () => void {
  const { loop } = useLive();
  let painter: ReturnType<typeof loop.add> | undefined;
  onMounted(() => (painter = loop.add([...topics, "choice", "theme"], paint)));
  onBeforeUnmount(() => painter?.stop());
  return () => painter?.now();
}
