// node check_timeline.mjs TRACE [SQL...]
// Prints one JSON object about a trace as Perfetto's trace processor reads it; exit status 1 with reasons in "problems".
// Further statements are answered in "answers", in order.
import { TraceProcessor } from './trace_processor.mjs';

const kBadStats = `SELECT name, severity, SUM(value) AS value FROM stats
  WHERE value > 0 AND severity IN ('error', 'data_loss') GROUP BY name, severity`;
const kLostFlows = `SELECT IFNULL(SUM(value), 0) AS count FROM stats WHERE name GLOB 'flow_*'`;
const kBesideParent = `SELECT COUNT(*) AS count FROM slice JOIN slice AS parent ON slice.parent_id = parent.id
  WHERE slice.ts < parent.ts OR (parent.dur >= 0 AND slice.ts + slice.dur > parent.ts + parent.dur)`;
const kOverlapping = `SELECT COUNT(*) AS count FROM (
    SELECT ts, dur, LAG(ts + dur) OVER (PARTITION BY track_id, depth ORDER BY ts, id) AS last_end FROM slice)
  WHERE last_end > ts`;
const kNames = 'SELECT name, COUNT(*) AS count FROM slice GROUP BY name ORDER BY name';
const kProcesses = `SELECT process.pid, process.name, COUNT(thread.utid) AS threads FROM process
  LEFT JOIN thread USING (upid) WHERE process.name IS NOT NULL GROUP BY upid ORDER BY process.pid`;
const kFlows = 'SELECT COUNT(*) AS count FROM flow';

async function examine(processor) {
  const one = async (sql) => (await processor.query(sql))[0].count;
  const names = await processor.query(kNames);
  const report = {
    slices: names.reduce((sum, row) => sum + row.count, 0),
    flows: await one(kFlows),
    lost_flows: await one(kLostFlows),  // ends of arrows of which the other end is not here or lies on the wrong side
    names: Object.fromEntries(names.map((row) => [row.name, row.count])),
    processes: await processor.query(kProcesses),
    problems: [],
  };
  for (const row of await processor.query(kBadStats)) report.problems.push(`${row.name} (${row.severity}): ${row.value}`);
  const beside = await one(kBesideParent);
  if (beside > 0) report.problems.push(`${beside} slices reach out of the slice that encloses them`);
  const overlapping = await one(kOverlapping);
  if (overlapping > 0) report.problems.push(`${overlapping} slices overlap one before them on the same track`);
  return report;
}

const directory = process.env.TRACE_PROCESSOR ?? new URL('../../../build/trace_processor', import.meta.url).pathname;
const [file, ...statements] = process.argv.slice(2);
if (!file) {
  console.error('usage: check_timeline.mjs TRACE [SQL...]');
  process.exit(2);
}
const processor = await TraceProcessor.open(directory);
let report = { problems: [] };
try {
  await processor.load(file);
  report = await examine(processor);
  report.answers = [];
  for (const sql of statements) report.answers.push(await processor.query(sql));
} catch (error) {
  report.problems.push(error.message);
}
console.log(JSON.stringify(report, (key, value) => (typeof value === 'bigint' ? value.toString() : value)));
if (report.problems.length > 0) process.exitCode = 1;
processor.close();
