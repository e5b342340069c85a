// How the playhead moves through a range of the trace: where it is, which way
// and how fast. Time is given, so that tests control it.
//
// It never skips ahead to make up for a late frame: a player passes at most the
// time of two frames, and the replay is slower then.
// Thread: one.
#ifndef COUNTRACE_VIEWER_REPLAY_PLAYHEAD_H_
#define COUNTRACE_VIEWER_REPLAY_PLAYHEAD_H_

#include <cstdint>
#include <string>

namespace countrace::viewer {

class Playhead {
 public:
  // Between `from_ns` and `to_ns`, both included, since the trace began.
  // `per_second_ns`: trace time in a second of playing; 0: all in 20 s.
  Playhead(std::uint64_t from_ns, std::uint64_t to_ns,
           std::uint64_t per_second_ns);

  std::uint64_t time_ns() const { return time_ns_; }
  std::uint64_t from_ns() const { return from_ns_; }
  std::uint64_t to_ns() const { return to_ns_; }
  bool playing() const { return playing_; }
  bool forward() const { return forward_; }
  bool loop() const { return loop_; }
  std::uint64_t per_second_ns() const { return per_second_ns_; }
  // At the end of the range in the direction of playing.
  bool at_end() const { return time_ns_ == (forward_ ? to_ns_ : from_ns_); }

  // As J and L of a video editor: again in the direction of playing is faster.
  // Begins anew at the end of the range.
  void Play(bool forward);
  void Pause() { playing_ = false; }
  void set_loop(bool loop) { loop_ = loop; }
  // Up or down the steps 1, 2, 5, 10, 20, ... ns a second.
  void Faster();
  void Slower();
  // Moves into the range.
  void MoveTo(std::uint64_t time_ns);
  // Plays for `elapsed_ns` of real time; pauses at the end of the range, or
  // goes on at its other end.
  void Advance(std::uint64_t elapsed_ns);

 private:
  std::uint64_t from_ns_, to_ns_, time_ns_, per_second_ns_;
  double rest_ns_ = 0;  // below 1 ns, of the last Advance()
  bool playing_ = false, forward_ = true, loop_ = false;
};

// "1 s shown = 10 ms (100 x slow)".
std::string SpeedText(std::uint64_t per_second_ns);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_REPLAY_PLAYHEAD_H_
