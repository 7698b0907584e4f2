#include "backends/k8s/client/exec_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "schedd/text/json.h"
#include "tests/unit/k8s_client/client_world.h"

namespace muster::k8s::test {
namespace {

using ::testing::HasSubstr;

constexpr char kV1[] = "client.authentication.k8s.io/v1";

class RunningClock final : public Clock {
 public:
  Monotonic Now() const override {
    return {std::chrono::steady_clock::now().time_since_epoch().count()};
  }
  WallTime WallNow() const override { return {1}; }
};

ExecPlugin Shell(const std::string& script) {
  ExecPlugin out;
  out.command = "/bin/sh";
  out.args = {"-c", script};
  out.api_version = kV1;
  return out;
}

Result<ExecCredentials> RunPlugin(const ExecPlugin& plugin, std::int64_t limit_ms = 60'000) {
  const RunningClock clock;
  const ExecStop stop;
  return RunExecPlugin(plugin, "{}", clock, stop, limit_ms);
}

std::string Credential(const std::string& status) {
  return std::string("{\"apiVersion\":\"") + kV1 +
         "\",\"kind\":\"ExecCredential\",\"status\":" + status + "}";
}

TEST(ExecPlugin, ItsTokenAndExpiryAreTaken) {
  const auto got = RunPlugin(Shell("echo '" +
                                   Credential("{\"token\":\"t1\",\"expirationTimestamp\":"
                                              "\"2026-01-01T00:00:00Z\"}") +
                                   "'; echo a secret >&2"));
  ASSERT_TRUE(got) << got.error().detail;
  EXPECT_EQ(got->token, "t1");
  EXPECT_EQ(FormatRfc3339(got->expires), "2026-01-01T00:00:00Z");
}

// Puts a variable into this process's environment for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST(ExecPlugin, OfTheDaemonsEnvironmentItGetsTheListedVariablesAlone) {
  const Variable secret("PGPASSWORD", "sesame"), other("MUSTER_ANYTHING", "x"),
      proxy("HTTPS_PROXY", "proxy:1"), small("no_proxy", "localhost"),
      trust("SSL_CERT_FILE", "/ours"), overridden("SSL_CERT_DIR", "/daemon");
  // A shell adds the first four by itself.
  const std::string listed =
      " -e _ -e PWD -e SHLVL -e OLDPWD -e PATH -e HOME -e TMPDIR -e SSL_CERT_FILE -e SSL_CERT_DIR "
      "-e HTTP_PROXY -e HTTPS_PROXY -e ALL_PROXY -e NO_PROXY -e http_proxy -e https_proxy "
      "-e all_proxy -e no_proxy -e CURL_CA_BUNDLE -e REQUESTS_CA_BUNDLE -e AWS_CA_BUNDLE "
      "-e NODE_EXTRA_CA_CERTS -e KUBERNETES_EXEC_INFO";
  ExecPlugin plugin =
      Shell("printf '" + Credential("{\"token\":\"%s\"}") +
            "' \"$(/usr/bin/env | cut -d= -f1 | grep -vx" + listed +
            " | tr '\\n' ',')$HTTPS_PROXY,$no_proxy,$SSL_CERT_FILE,$SSL_CERT_DIR\"");
  plugin.env["COLOUR"] = "red";
  plugin.env["SSL_CERT_DIR"] = "/kubeconfig";
  const auto got = RunPlugin(plugin);
  ASSERT_TRUE(got) << got.error().detail;
  EXPECT_EQ(got->token, "COLOUR,proxy:1,localhost,/ours,/kubeconfig");
}

TEST(ExecPlugin, ItsEnvironmentHasPathTheKubeconfigsAndTheInfo) {
  ExecPlugin plugin =
      Shell("printf '" + Credential("{\"token\":\"%s-%s\"}") +
            "' \"$COLOUR\" \"$(echo $KUBERNETES_EXEC_INFO | tr -d '{}')x${PATH:+y}\"");
  plugin.env["COLOUR"] = "red";
  const auto got = RunPlugin(plugin);
  ASSERT_TRUE(got) << got.error().detail;
  EXPECT_EQ(got->token, "red-xy");
}

TEST(ExecPlugin, WhatGoesWrongIsOneSentenceWithoutWhatItPrinted) {
  ExecPlugin missing;
  missing.command = "/nonexistent/plugin";
  missing.install_hint = "ask somebody";
  const struct {
    ExecPlugin plugin;
    std::string sentence;
    std::int64_t limit_ms = 60'000;
  } cases[] = {
      {missing,
       "the exec plugin cannot be run: No such file or directory (its kubeconfig says how"},
      {Shell("echo sesame; exit 3"), "the exec plugin ended with exit code 3"},
      {Shell("kill -9 $$"), "the exec plugin died of signal 9"},
      {Shell("echo sesame"), "the exec plugin did not print a JSON object"},
      {Shell("echo '{\"kind\":\"Pod\"}'"), "the exec plugin did not print an ExecCredential"},
      {Shell("echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"other\"}'"),
       "the exec plugin printed another apiVersion"},
      {Shell("echo '" + Credential("{}") + "'"), "the exec plugin printed no credentials"},
      {Shell("echo '" + Credential("{\"token\":\"a b\"}") + "'"),
       "the exec plugin printed a token with a blank"},
      {Shell("echo '" + Credential("{\"clientCertificateData\":\"x\"}") + "'"),
       "the exec plugin printed a certificate without its key"},
      {Shell("echo '" + Credential("{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}") + "'"),
       "the exec plugin printed an expirationTimestamp that is no time"},
      {Shell("cat /dev/zero"), "the exec plugin printed over 256 KiB"},
      {Shell("exec sleep 1000"), "the exec plugin did not answer in time", 100},
  };
  for (const auto& each : cases) {
    const auto got = RunPlugin(each.plugin, each.limit_ms);
    ASSERT_FALSE(got) << each.sentence;
    EXPECT_EQ(got.error().code, Code::kUnauthenticated);
    EXPECT_THAT(got.error().detail, HasSubstr(each.sentence));
    EXPECT_EQ(got.error().detail.find("sesame"), std::string::npos);
  }
}

TEST(ExecPlugin, ItsChildrenDieWithIt) {
  const Folder folder;
  const std::string pid_file = folder.path() + "/pid";
  const RunningClock clock;
  ExecStop stop;
  // Once the child is there, and not by a time limit: a slow machine needs longer to start it.
  std::thread stopper([&] {
    EXPECT_TRUE(Eventually([&] { return std::filesystem::exists(pid_file); }));
    stop.Stop();
  });
  // The child keeps the output open, so the plugin has not answered though it has ended.
  const auto got = RunExecPlugin(
      Shell("sleep 1000 & echo $! > " + pid_file + ".new; mv " + pid_file + ".new " + pid_file),
      "{}", clock, stop);
  stopper.join();
  EXPECT_FALSE(got);
  std::ifstream file(pid_file);
  pid_t child = 0;
  ASSERT_TRUE(file >> child);
  EXPECT_TRUE(Eventually([&] {
    // A killed one that init has not reaped yet is as dead.
    std::ifstream status("/proc/" + std::to_string(child) + "/stat");
    std::string text;
    std::getline(status, text);
    return text.empty() || text.find(") Z ") != std::string::npos;
  }));
}

TEST(ExecPlugin, OneThatRunsIsEndedByStop) {
  const RunningClock clock;
  ExecStop stop;
  std::thread stopper([&] { stop.Stop(); });
  const auto got = RunExecPlugin(Shell("exec sleep 1000"), "{}", clock, stop);
  stopper.join();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().detail, "the exec plugin was stopped");
}

TEST(ExecPlugin, TheClusterIsTellableInItsInfo) {
  MemberAccess access;
  access.host = "fd00::1";
  access.port = "6443";
  access.exec = Shell("");
  EXPECT_EQ(ExecInfo(access, "CA").find("cluster"), std::string::npos);
  access.exec.provide_cluster_info = true;
  const auto info = ParseJson(ExecInfo(access, "CA"));
  ASSERT_TRUE(info);
  const auto& cluster = info->at("spec").at("cluster");
  EXPECT_EQ(cluster.at("server").as_string(), "https://[fd00::1]:6443");
  EXPECT_EQ(cluster.at("certificate-authority-data").as_string(), "Q0E=");
  EXPECT_EQ(info->at("spec").at("interactive").as_bool(), false);
}

}  // namespace
}  // namespace muster::k8s::test
