// The scope in which a thread polls for arrivals itself.
#pragma once

namespace musubi::fabric {

// Ends with this object. `Attended` has begin_looks() and end_looks(), as Fabric and JointSleep do.
template <typename Attended>
class Looks {
 public:
  // Null: no effect.
  explicit Looks(Attended* attended) noexcept : attended_(attended) {}
  Looks(const Looks&) = delete;
  ~Looks() {
    if (has_told_) attended_->end_looks();
  }
  // Idempotent.
  void begin() noexcept {
    if (has_told_ || attended_ == nullptr) return;
    has_told_ = true;
    attended_->begin_looks();
  }

 private:
  Attended* const attended_;
  bool has_told_ = false;
};

}  // namespace musubi::fabric
