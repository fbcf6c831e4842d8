// What this program does. Each takes its arguments after the command's name and exits 0 if nothing went wrong.
#pragma once

int torn_reads(int count, char **arguments);
int killed_savers(int count, char **arguments);
int saving_threads(int count, char **arguments);
int ended_savers(int count, char **arguments);
int endless_saver(int count, char **arguments);
int one_version(int count, char **arguments);
int check_versions(int count, char **arguments);
int concurrent_opens(int count, char **arguments);
int concurrent_attributes(int count, char **arguments);
int opened_amid_stream(int count, char **arguments);
int times_amid_close(int count, char **arguments);
int renamed_and_truncated(int count, char **arguments);
int seen_when_closed(int count, char **arguments);
