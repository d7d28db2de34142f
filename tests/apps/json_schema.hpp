#pragma once

// Checks JSON against a schema, by the few words of JSON Schema that docs/schemas uses.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace whilst_test {

inline bool has_type(const nlohmann::json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return type == value.type_name();
}

/// A line for each place where the value departs from the schema. root: the whole schema, with "$defs". Throws on a
/// word that it does not know: what is not checked must not pass.
inline std::vector<std::string> schema_faults(const nlohmann::json& value, const nlohmann::json& schema,
                                              const nlohmann::json& root, const std::string& at = "") {
  using nlohmann::json;
  std::vector<std::string> faults;
  const auto add = [&](const std::string& what) { faults.push_back((at.empty() ? "/" : at) + ": " + what); };
  const auto check = [&](const json& part, const json& by, const std::string& name) {
    const auto more = schema_faults(part, by, root, at + "/" + name);
    faults.insert(faults.end(), more.begin(), more.end());
  };
  for (const auto& [word, rule] : schema.items()) {
    if (word == "$ref") {
      check(value, root.at(json::json_pointer(rule.get<std::string>().substr(1))), "");
    } else if (word == "type") {
      const json types = rule.is_array() ? rule : json::array({rule});
      if (std::none_of(types.begin(), types.end(), [&](const json& type) { return has_type(value, type); }))
        add(value.dump() + " is not of type " + rule.dump());
    } else if (word == "enum") {
      if (std::find(rule.begin(), rule.end(), value) == rule.end()) add(value.dump() + " is not one of " + rule.dump());
    } else if (word == "minimum") {
      if (value.is_number() && value.get<double>() < rule.get<double>()) add(value.dump() + " is below " + rule.dump());
    } else if (word == "required") {
      for (const json& key : rule)
        if (!value.contains(key.get<std::string>())) add("there is no " + key.dump());
    } else if (word == "items") {
      for (std::size_t k = 0; k < value.size(); ++k) check(value[k], rule, std::to_string(k));
    } else if (word == "properties") {
      for (const auto& [key, part] : value.items())
        if (rule.contains(key)) check(part, rule[key], key);
    } else if (word == "additionalProperties") {
      for (const auto& [key, part] : value.items()) {
        if (schema.contains("properties") && schema["properties"].contains(key)) continue;
        if (rule.is_object())
          check(part, rule, key);
        else if (rule == false)
          add("\"" + key + "\" is not in the schema");
      }
    } else if (word != "$schema" && word != "$defs" && word != "title" && word != "description") {
      throw std::logic_error("this check of schemas does not know \"" + word + "\"");
    }
  }
  return faults;
}

}  // namespace whilst_test
