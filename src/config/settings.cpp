#include "config/settings.h"

namespace musubi::config {
namespace {

const Declaration all_declarations[] = {
#define MUSUBI_SETTING(kind, name, value, low, high, scope, doc) \
  {#name, Kind::kind, Scope::scope, low, high, "", doc, &Settings::name},
#define MUSUBI_CHOICE(name, value, words, scope, doc) \
  {#name, Kind::choice, Scope::scope, 0, 0, words, doc, &Settings::name},
#include "config/settings.def"
#undef MUSUBI_SETTING
#undef MUSUBI_CHOICE
};

}  // namespace

std::span<const Declaration> declarations() {
  return all_declarations;
}

Value value_of(const Settings& settings, const Declaration& declaration) {
  return std::visit([&](auto member) { return Value(settings.*member); }, declaration.field);
}

void assign(Settings& settings, const Declaration& declaration, const Value& value) {
  std::visit(
      [&](auto member) {
        using Type = std::remove_reference_t<decltype(settings.*member)>;
        settings.*member = std::get<Type>(value);
      },
      declaration.field);
}

}  // namespace musubi::config
