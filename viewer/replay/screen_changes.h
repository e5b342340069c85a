// What a terminal has to be sent so that it shows the next screen: the lines
// that changed (ECMA-48: CUP, EL, ED).
// Thread: one.
#ifndef COUNTRACE_VIEWER_REPLAY_SCREEN_CHANGES_H_
#define COUNTRACE_VIEWER_REPLAY_SCREEN_CHANGES_H_

#include <string>
#include <vector>

namespace countrace::viewer {

class ScreenChanges {
 public:
  // Empty: nothing changed. A screen of another size is sent as a whole.
  std::string To(const std::vector<std::string>& lines);
  // The terminal's contents are not known.
  void Forget() { shown_.clear(); }

 private:
  std::vector<std::string> shown_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_REPLAY_SCREEN_CHANGES_H_
