// How one waiting thread looks for arrivals.
#pragma once

namespace musubi::fabric {

// Says so when the thread has looked once in vain. `Attended` has begin_looks() and end_looks(), as of
// JointSleep.
template <typename Attended>
class Looks {
 public:
  // Null: there is nobody to tell.
  explicit Looks(Attended* attended) noexcept : attended_(attended) {}
  Looks(const Looks&) = delete;
  ~Looks() {
    if (has_told_) attended_->end_looks();
  }
  void looked_in_vain() noexcept {
    if (has_told_ || attended_ == nullptr) return;
    has_told_ = true;
    attended_->begin_looks();
  }

 private:
  Attended* const attended_;
  bool has_told_ = false;
};

}  // namespace musubi::fabric
