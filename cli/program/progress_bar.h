// One line on stderr that shows the progress of a long job; nothing unless
// stderr is a terminal. At most ten redraws a second.
//
// Thread: one. The destructor erases the line.
#ifndef COUNTRACE_CLI_PROGRAM_PROGRESS_BAR_H_
#define COUNTRACE_CLI_PROGRAM_PROGRESS_BAR_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "logformat/progress.h"

namespace countrace::cli {

class ProgressBar final {
 public:
  // `label` names the job: "reading countrace.ctf".
  ProgressBar(std::string label, bool enabled);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Draws "label  42 %  [####      ]  ETA 0:07".
  void Update(std::uint64_t done, std::uint64_t total);
  // For jobs without a known end: draws "label  text".
  void Update(std::string_view text);
  // Erases the line, so that a message can be printed.
  void Clear();

  // Draws each call; stops the job after Ctrl-C (interruption.h). Valid as long
  // as this object.
  logformat::ProgressCallback Callback();

 private:
  using Clock = std::chrono::steady_clock;

  // True at most ten times a second.
  bool IsTimeToDraw();
  void Draw(std::string line);

  const std::string label_;
  const bool enabled_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point next_draw_ = begin_;
  bool drawn_ = false;
};

// True if a progress bar is visible: stderr is a terminal and not a dumb one.
bool ShowProgress();

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_PROGRESS_BAR_H_
