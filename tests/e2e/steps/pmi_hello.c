/* A rank that meets the others by PMI-2 or PMI-1: it puts its name, waits at the fence, and reads the name of the next rank.
   Usage: pmi_hello 1|2. Prints "rank R of N sees NAME". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fd;

static void fail(const char* why) {
  fprintf(stderr, "pmi_hello: %s\n", why);
  exit(3);
}

static void put(const char* text) {
  size_t size = strlen(text);
  if (write(fd, text, size) != (ssize_t)size) fail("write");
}

static void get_exact(char* out, size_t size) {
  while (size > 0) {
    ssize_t got = read(fd, out, size);
    if (got <= 0) fail("read");
    out += got;
    size -= (size_t)got;
  }
}

static void get_line(char* out, size_t most) {
  size_t used = 0;
  do {
    if (used + 1 >= most) fail("a line is too long");
    get_exact(out + used, 1);
  } while (out[used++] != '\n');
  out[used - 1] = 0;
}

/* Sends one PMI-2 message and reads the answer, which must be of the same command with rc=0. */
static void ask2(const char* body, const char* command, char* out, size_t most) {
  char text[4096], length[7] = {0};
  snprintf(text, sizeof(text), "%6zu%s", strlen(body), body);
  put(text);
  get_exact(length, 6);
  size_t size = (size_t)atol(length);
  if (size + 1 > most) fail("an answer is too long");
  get_exact(out, size);
  out[size] = 0;
  if (strncmp(out, "cmd=", 4) != 0 || strncmp(out + 4, command, strlen(command)) != 0) fail(out);
  if (strstr(out, "rc=0;") == NULL) fail(out);
}

static void value_of(const char* answer, const char* name, char end, char* out, size_t most) {
  const char* at = strstr(answer, name);
  if (at == NULL) fail(answer);
  at += strlen(name);
  size_t size = strcspn(at, (char[]){end, 0});
  if (size >= most) fail("a value is too long");
  memcpy(out, at, size);
  out[size] = 0;
}

static int hello2(int rank, int size, char* seen, size_t most) {
  char answer[4096], body[512];
  put("cmd=init pmi_version=2 pmi_subversion=0\n");
  get_line(answer, sizeof(answer));
  if (strstr(answer, "rc=0") == NULL) fail(answer);
  snprintf(body, sizeof(body), "cmd=fullinit;pmijobid=x;pmirank=%d;threaded=FALSE;", rank);
  ask2(body, "fullinit-response", answer, sizeof(answer));
  char text[64];
  value_of(answer, ";size=", ';', text, sizeof(text));
  if (atoi(text) != size) fail("size");
  ask2("cmd=job-getid;", "job-getid-response", answer, sizeof(answer));
  ask2("cmd=info-getjobattr;key=PMI_process_mapping;", "info-getjobattr-response", answer, sizeof(answer));
  if (strstr(answer, "(vector,") == NULL) fail(answer);
  snprintf(body, sizeof(body), "cmd=kvs-put;key=name%d;value=semi;;colon%d;", rank, rank);
  ask2(body, "kvs-put-response", answer, sizeof(answer));
  ask2("cmd=kvs-fence;", "kvs-fence-response", answer, sizeof(answer));
  snprintf(body, sizeof(body), "cmd=kvs-get;jobid=x;srcid=-1;key=name%d;", (rank + 1) % size);
  ask2(body, "kvs-get-response", answer, sizeof(answer));
  value_of(answer, ";value=semi;;colon", ';', seen, most);
  ask2("cmd=finalize;", "finalize-response", answer, sizeof(answer));
  return 0;
}

static int hello1(int rank, int size, char* seen, size_t most) {
  char answer[4096], body[512], kvs[256];
  put("cmd=init pmi_version=1 pmi_subversion=1\n");
  get_line(answer, sizeof(answer));
  if (strstr(answer, "cmd=response_to_init") == NULL) fail(answer);
  put("cmd=get_maxes\n");
  get_line(answer, sizeof(answer));
  put("cmd=get_my_kvsname\n");
  get_line(answer, sizeof(answer));
  value_of(answer, "kvsname=", ' ', kvs, sizeof(kvs));
  snprintf(body, sizeof(body), "cmd=put kvsname=%s key=name%d value=%d\n", kvs, rank, rank);
  put(body);
  get_line(answer, sizeof(answer));
  put("cmd=barrier_in\n");
  get_line(answer, sizeof(answer));
  if (strcmp(answer, "cmd=barrier_out") != 0) fail(answer);
  snprintf(body, sizeof(body), "cmd=get kvsname=%s key=name%d\n", kvs, (rank + 1) % size);
  put(body);
  get_line(answer, sizeof(answer));
  value_of(answer, "value=", 0, seen, most);
  put("cmd=finalize\n");
  get_line(answer, sizeof(answer));
  return strcmp(answer, "cmd=finalize_ack");
}

int main(int argc, char** argv) {
  const char* number = getenv("PMI_FD");
  if (number == NULL || getenv("PMI_RANK") == NULL || getenv("PMI_SIZE") == NULL) fail("no PMI_FD");
  fd = atoi(number);
  int rank = atoi(getenv("PMI_RANK")), size = atoi(getenv("PMI_SIZE"));
  char seen[64];
  int bad = argc > 1 && argv[1][0] == '1' ? hello1(rank, size, seen, sizeof(seen)) : hello2(rank, size, seen, sizeof(seen));
  printf("rank %d of %d sees %s\n", rank, size, seen);
  return bad;
}
