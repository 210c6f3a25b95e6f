// node query.mjs TRACE SQL...   prints the rows of each statement as JSON, one statement a line.
// The trace processor's directory: TRACE_PROCESSOR, by default build/trace_processor of this repository.
import { TraceProcessor } from './trace_processor.mjs';

const directory = process.env.TRACE_PROCESSOR ?? new URL('../../../build/trace_processor', import.meta.url).pathname;
const [file, ...statements] = process.argv.slice(2);
if (!file || statements.length === 0) {
  console.error('usage: query.mjs TRACE SQL...');
  process.exit(2);
}
const processor = await TraceProcessor.open(directory);
try {
  await processor.load(file);
  for (const sql of statements) {
    const rows = await processor.query(sql);
    console.log(JSON.stringify(rows, (key, value) => (typeof value === 'bigint' ? value.toString() : value)));
  }
} catch (error) {
  console.error(`${file}: ${error.message}`);
  process.exitCode = 1;
}
processor.close();
