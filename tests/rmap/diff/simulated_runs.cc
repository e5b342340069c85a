#include "tests/rmap/diff/simulated_runs.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace countrace::test_support {

using rmap::Quality;
using rmap::Report;
using rmap::SegmentRow;

namespace {

double Factor(double sigma, const Noise& noise, Random& random) {
  if (sigma == 0) return 1;
  if (noise.heavy_tails) {
    // The standard deviation is sigma: that of Student's t is sqrt(3).
    std::student_t_distribution<double> student(3);
    return std::max(0.0, 1 + sigma / std::sqrt(3) * student(random));
  }
  std::normal_distribution<double> normal(0, sigma);
  const double deviate = normal(random);
  // The mean is 1 in both cases.
  return noise.skewed ? std::exp(deviate - sigma * sigma / 2)
                      : std::max(0.0, 1 + deviate);
}

// For all rows of a run.
double FactorOfRun(const Noise& noise, Random& random) {
  const double factor = Factor(noise.of_run, noise, random);
  if (noise.slow_runs == 0) return factor;
  return std::bernoulli_distribution(0.1)(random)
             ? factor * (1 + noise.slow_runs)
             : factor;
}

std::uint64_t Poisson(double mean, Random& random) {
  if (mean <= 0) return 0;
  return static_cast<std::uint64_t>(
      std::poisson_distribution<std::int64_t>(mean)(random));
}

bool IsInside(const SegmentRow& inner, const SegmentRow& outer) {
  return inner.comm == outer.comm && inner.path.size() > outer.path.size() &&
         std::equal(outer.path.begin(), outer.path.end(), inner.path.begin());
}

void AddInclusive(const SegmentRow& from, SegmentRow& to) {
  to.wall.incl += from.wall.excl;
  to.on_cpu->incl += from.on_cpu->excl;
  to.off_cpu->incl += from.off_cpu->excl;
  to.counts[0]->incl += from.counts[0]->excl;
}

// Sums by name: paths of these programs are never recursive.
void AddWholeSegments(Report& report) {
  std::map<std::pair<std::string, std::string>, SegmentRow> whole;
  for (const SegmentRow& row : report.segment_paths) {
    auto [found, added] = whole.try_emplace({row.comm, row.segment}, row);
    if (added) continue;
    SegmentRow& sum = found->second;
    sum.calls += row.calls;
    sum.wall.incl += row.wall.incl;
    sum.wall.excl += row.wall.excl;
    sum.on_cpu->incl += row.on_cpu->incl;
    sum.on_cpu->excl += row.on_cpu->excl;
    sum.off_cpu->incl += row.off_cpu->incl;
    sum.off_cpu->excl += row.off_cpu->excl;
    sum.counts[0]->incl += row.counts[0]->incl;
    sum.counts[0]->excl += row.counts[0]->excl;
  }
  for (auto& [key, row] : whole) report.segments.push_back(std::move(row));
}

}  // namespace

TrueProgram RandomProgram(std::size_t processes, std::size_t rows,
                          Random& random) {
  TrueProgram program;
  std::uniform_real_distribution<double> uniform(0, 1);
  for (std::size_t i = 0; i < rows; ++i) {
    TrueSegment segment;
    const std::size_t process = i % processes;
    segment.process = "program" + std::to_string(process);
    // Under an earlier segment of the same process, or at the top.
    if (i >= processes && uniform(random) < 0.7) {
      const std::size_t parent =
          process + processes * (random() % (i / processes));
      segment.path = program.segments[parent].path;
    }
    segment.path.push_back("test:s" + std::to_string(i));
    segment.calls = 20 + std::floor(200 * uniform(random));
    segment.on_cpu_ns_per_call = 1e3 * std::exp(4 * uniform(random));
    segment.off_cpu_ns_per_call = 1e3 * std::exp(3 * uniform(random));
    segment.faults_per_call = 5 * uniform(random);
    program.segments.push_back(std::move(segment));
  }
  return program;
}

Report SimulateRun(const TrueProgram& program, const Noise& noise,
                   Random& random) {
  Report report;
  report.path = "simulated.ctf";
  report.scope = "system";
  report.cpus = 1;
  report.events = {{.name = "page-faults"}};
  const double of_run = FactorOfRun(noise, random);
  const auto time = [&](double mean) {
    return static_cast<std::uint64_t>(
        std::llround(mean * of_run * Factor(noise.of_row, noise, random)));
  };
  std::map<std::string, rmap::ProcessRow> processes;
  rmap::CpuRow cpu;
  rmap::Books book;
  for (const TrueSegment& segment : program.segments) {
    SegmentRow row;
    row.segment = segment.path.back();
    row.path = segment.path;
    row.comm = segment.process;
    auto [process, added] = processes.try_emplace(segment.process);
    if (added) {
      process->second.comm = segment.process;
      process->second.pid = static_cast<std::int32_t>(
          100 + random() % 1000 * 1000 + processes.size());
      process->second.on_cpu_ns = time(program.outside_ns);
      process->second.counts = {Poisson(20, random)};
    }
    row.pid = process->second.pid;
    row.calls = noise.whole_calls_vary
                    ? std::max<std::uint64_t>(1, Poisson(segment.calls, random))
                    : static_cast<std::uint64_t>(segment.calls);
    const auto calls = static_cast<double>(row.calls);
    const auto on_cpu = time(calls * segment.on_cpu_ns_per_call);
    const auto off_cpu = time(calls * segment.off_cpu_ns_per_call);
    const auto faults = Poisson(calls * segment.faults_per_call, random);
    row.on_cpu = {on_cpu, on_cpu};
    row.off_cpu = {off_cpu, off_cpu};
    row.wall.incl = row.wall.excl = on_cpu + off_cpu;
    row.wall.mean = static_cast<double>(row.wall.incl) / calls;
    row.wall.stddev = 0.2 * row.wall.mean;
    row.counts = {rmap::SegmentCount{faults, faults, Quality::kExact}};
    *process->second.on_cpu_ns += on_cpu;
    *process->second.counts[0] += faults;
    report.segment_paths.push_back(std::move(row));
  }
  for (SegmentRow& outer : report.segment_paths) {
    for (const SegmentRow& inner : report.segment_paths) {
      if (IsInside(inner, outer)) AddInclusive(inner, outer);
    }
  }
  for (auto& [name, process] : processes) {
    cpu.busy_ns += *process.on_cpu_ns;
    book.processes += *process.counts[0];
    report.processes.push_back(std::move(process));
  }
  cpu.idle_ns = time(1e6);
  cpu.wall_ns = cpu.busy_ns + cpu.idle_ns;
  report.end_ns = cpu.wall_ns;
  report.cpu_rows = {cpu};
  book.total = book.processes;
  report.books = {book};
  AddWholeSegments(report);
  return report;
}

std::vector<Report> SimulateRuns(std::size_t runs, const TrueProgram& program,
                                 const Noise& noise, Random& random) {
  std::vector<Report> reports;
  for (std::size_t i = 0; i < runs; ++i) {
    reports.push_back(SimulateRun(program, noise, random));
    reports.back().path = "run" + std::to_string(random()) + ".ctf";
  }
  return reports;
}

namespace {

// `lost` of a number may be missing, or be too much.
template <typename Row>
void SetLost(Row& row, rmap::Number number, std::uint64_t value,
             std::uint64_t lost) {
  row.bounds.Set(number, value, {value, value + lost});
}
template <typename Row>
void SetLess(Row& row, rmap::Number number, std::uint64_t value,
             std::uint64_t lost) {
  row.bounds.Set(number, value, {value - lost, value});
}

}  // namespace

void LoseOnCpu(Report& report, std::size_t row, double part) {
  SegmentRow& segment = report.segment_paths[row];
  const auto lost = static_cast<std::uint64_t>(
      part * static_cast<double>(segment.on_cpu->excl));
  for (SegmentRow& outer : report.segment_paths) {
    if (&outer != &segment && !IsInside(segment, outer)) continue;
    outer.on_cpu->incl -= lost;
    outer.off_cpu->incl += lost;
    outer.on_cpu_quality = Quality::kBounded;
    SetLost(outer, rmap::Number::kOnCpuIncl, outer.on_cpu->incl, lost);
    SetLess(outer, rmap::Number::kOffCpuIncl, outer.off_cpu->incl, lost);
  }
  segment.on_cpu->excl -= lost;
  segment.off_cpu->excl += lost;
  SetLost(segment, rmap::Number::kOnCpuExcl, segment.on_cpu->excl, lost);
  SetLess(segment, rmap::Number::kOffCpuExcl, segment.off_cpu->excl, lost);
  for (rmap::ProcessRow& process : report.processes) {
    if (process.comm != segment.comm) continue;
    *process.on_cpu_ns -= lost;
    process.quality = Quality::kBounded;
    SetLost(process, rmap::Number::kOnCpu, *process.on_cpu_ns, lost);
  }
  report.cpu_rows[0].busy_ns -= lost;
  report.cpu_rows[0].unattributed_ns += lost;
}

}  // namespace countrace::test_support
