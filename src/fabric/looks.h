// How one waiting thread looks for arrivals.
#pragma once

namespace musubi::fabric {

// Says so when the thread has looked a few times in vain: most replies come before that. `Attended` has
// begin_looks() and end_looks(), as of JointSleep.
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
    if (has_told_ || attended_ == nullptr || ++looks_ < looks_untold) return;
    has_told_ = true;
    attended_->begin_looks();
  }

 private:
  static constexpr unsigned looks_untold = 1;

  Attended* const attended_;
  unsigned looks_ = 0;
  bool has_told_ = false;
};

}  // namespace musubi::fabric
