// The screen of `countrace stat --top`: the tables of the latest interval, as
// lines of a terminal.
//
// In: keys, and the report of an interval. Out: lines, as many as the terminal
// has, none wider than it. Thread: one.
#ifndef COUNTRACE_RMAP_STAT_TOP_SCREEN_H_
#define COUNTRACE_RMAP_STAT_TOP_SCREEN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rmap/columns/report_by.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

class TopScreen {
 public:
  // `of`: what is counted, in words. `own_pid`: the recorder's process.
  // Requires: `of` is safe to print.
  TopScreen(std::string of, std::int32_t own_pid)
      : of_(std::move(of)), own_pid_(own_pid) {}

  // p, t, s, b: processes, threads, segments, processes with segments; < and >:
  // the order of the rows; space: the screen stands still. False: q.
  bool Key(char key);
  bool paused() const { return paused_; }

  // The tables of the next interval; `clock`: its end, in words.
  void Show(Report report, std::string clock);
  // Instead of tables, while there is no interval yet.
  void Say(std::string text) { said_ = std::move(text); }

  std::vector<std::string> Lines(std::size_t columns, std::size_t lines,
                                 bool color) const;

 private:
  std::vector<ReportBy> Tables() const;
  // The fields by which a shown table can be sorted; first: the usual order.
  std::vector<std::string> Orders() const;
  void Sort();
  std::string Heading() const;

  std::string of_, clock_, said_;
  std::int32_t own_pid_;
  Report report_, sorted_;
  bool any_ = false, paused_ = false;
  char table_ = 'b';
  std::string order_;  // empty: the usual one
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STAT_TOP_SCREEN_H_
